"""The pages on which people come in, and look after their account."""

from __future__ import annotations

from server.accounts.views import signing_in
from server.accounts.views.blueprint import accounts

__all__ = ["accounts", "signing_in"]
