from __future__ import annotations

from tests.server.web.conftest import portal

__all__ = ["portal"]
