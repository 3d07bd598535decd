"""Pages for signing in and for one's account."""

from __future__ import annotations

from server.accounts.views import password, profile, sessions, sign_in, tokens
from server.accounts.views.blueprint import accounts

__all__ = ["accounts", "password", "profile", "sessions", "sign_in", "tokens"]
