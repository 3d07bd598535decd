"""The pages on which people come in, and look after their account."""

from __future__ import annotations

from server.accounts.views import joining, links, password, profile, sessions, signing_in, tokens
from server.accounts.views.blueprint import accounts

__all__ = ["accounts", "joining", "links", "password", "profile", "sessions", "signing_in", "tokens"]
