"""For `celery -A bench.queue.bare_app`."""

from __future__ import annotations

from bench.queue.bare import application

app = application()
