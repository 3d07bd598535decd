"""The portal for other web servers than its own, made once in each of their processes."""

from __future__ import annotations

from server.settings import read_settings
from server.web.app import create_app
from server.web.web_server import prepare_to_answer

app = create_app(read_settings())
prepare_to_answer(app)
