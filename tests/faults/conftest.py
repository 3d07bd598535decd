from __future__ import annotations

from tests.services.connections import no_connection_is_left

__all__ = ["no_connection_is_left"]
