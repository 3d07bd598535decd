"""The pages on which people come in, and look after their account."""

from __future__ import annotations

from server.accounts.views import password, profile, sessions, signing_in, tokens
from server.accounts.views.blueprint import accounts
from server.enrolment.views import joining, links

__all__ = ["accounts", "joining", "links", "password", "profile", "sessions", "signing_in", "tokens"]
