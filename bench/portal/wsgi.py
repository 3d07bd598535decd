"""The portal for other web servers than its own, made once in each of their processes."""

from __future__ import annotations

import sys

from server.bounded_work import prepare_bounded_work
from server.http.concurrency_limit import pace_clients
from server.settings import read_settings
from server.web.app import create_app

sys.setswitchinterval(0.0005)
app = create_app(read_settings())
pace_clients(app)
prepare_bounded_work("server.submissions.result.report", "server.courses.handouts")
