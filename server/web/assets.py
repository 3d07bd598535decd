"""Styles and scripts. Each address contains a digest of the content, so browsers cache it forever."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, request, url_for
from markupsafe import Markup

from kernels.rendering.page.render import script_text, stylesheet

assets = Blueprint("assets", __name__)

_STATIC = Path(__file__).parent / "static"
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A served file. packed: the content as gzip; digest: of the content, a part of the address."""

    name: str
    media_type: str
    content: bytes
    packed: bytes
    digest: str


def attach_assets(app: Flask) -> None:
    """Serve the assets, and give templates `{{ asset("tilelab.css") }}`."""
    app.register_blueprint(assets)
    app.jinja_env.globals["asset"] = asset_url


def asset_url(name: str) -> Markup:
    """An asset's address; raises KeyError if there is no such asset."""
    found = _all()[name]
    return Markup(url_for("assets.show", digest=found.digest, name=found.name))  # noqa: S704 - digits and our own name


@assets.get("/assets/<digest>/<name>")
def show(digest: str, name: str) -> Response:
    """Serve an asset of this version; an old page that asks for another version gets 404."""
    found = _all().get(name)
    if found is None or found.digest != digest:
        abort(404)
    packed = bool(request.accept_encodings["gzip"])
    response = Response(found.packed if packed else found.content, mimetype=found.media_type)
    if packed:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = _FOR_GOOD
    return response


@cache
def _all() -> dict[str, Asset]:
    style = stylesheet() + (_STATIC / "portal.css").read_text("utf-8")
    made = [
        _made("tilelab.css", "text/css", style.encode()),
        _made("report.js", "text/javascript", script_text().encode()),
    ]
    made += [
        _made(file.name, "text/javascript", file.read_bytes())
        for file in sorted((_STATIC / "build").glob("*.js"))
    ]
    return {one.name: one for one in made}


def _made(name: str, media_type: str, content: bytes) -> Asset:
    digest = hashlib.sha256(content).hexdigest()[:16]
    return Asset(name, media_type, content, gzip.compress(content, 9, mtime=0), digest)
