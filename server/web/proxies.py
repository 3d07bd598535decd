"""Who asks, where proxies of ours stand in between."""

from __future__ import annotations

from flask import Flask
from werkzeug.middleware.proxy_fix import ProxyFix

from server.settings import Settings


def attach_proxies(app: Flask, settings: Settings) -> None:
    """Take the address of a browser, and whether it came by https, from what so many proxies added.

    Without any, such headers are what a browser made up: they would let who guesses passwords come from a new address
    each time.
    """
    if settings.proxies:
        known = settings.proxies
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=known, x_proto=known, x_host=0)  # type: ignore[method-assign]
