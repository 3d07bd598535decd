"""The pages on which people sign in, and look after their account."""

from __future__ import annotations

from server.accounts.views import password, profile, sessions, signing_in, tokens
from server.accounts.views.blueprint import accounts

__all__ = ["accounts", "password", "profile", "sessions", "signing_in", "tokens"]
