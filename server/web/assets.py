"""Styles, scripts, the code font and the mark.

Each address contains a digest of the content, so browsers cache it forever. Built scripts have one digest in common,
because they import each other from the same folder.
"""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, request
from markupsafe import Markup

from kernels.rendering.page.render import script_text, stylesheet

assets = Blueprint("assets", __name__)

_STATIC = Path(__file__).parent / "static"
_FOR_GOOD = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A served file. packed: the content as gzip, None if that isn't smaller; digest: a part of the address."""

    name: str
    media_type: str
    content: bytes
    packed: bytes | None
    digest: str


def attach_assets(app: Flask) -> None:
    """Serve the assets, and give templates `{{ asset("tilelab.css") }}` and `{{ scheme() }}`."""
    app.register_blueprint(assets)
    app.jinja_env.globals["asset"] = asset_url
    app.jinja_env.globals["scheme"] = scheme


def scheme() -> str:
    """The colours that the reader chose: light, dark or auto. server/web/client/scheme.ts sets the cookie."""
    chosen = request.cookies.get("tilelab-scheme", "")
    return chosen if chosen in {"light", "dark"} else "auto"


@cache
def asset_url(name: str) -> Markup:
    """An asset's address; raises KeyError if there is no such asset."""
    return Markup(f"/assets/{_all()[name].digest}/{name}")  # noqa: S704 - digits and our own name


@assets.get("/assets/<digest>/<name>")
def show(digest: str, name: str) -> Response:
    """Serve an asset of this version; an old page that asks for another version gets 404."""
    found = _all().get(name)
    if found is None or found.digest != digest:
        abort(404)
    packed = found.packed if request.accept_encodings["gzip"] else None
    response = Response(found.content if packed is None else packed, mimetype=found.media_type)
    if packed is not None:
        response.headers["Content-Encoding"] = "gzip"
    response.headers["Vary"] = "Accept-Encoding"
    response.headers["Cache-Control"] = _FOR_GOOD
    return response


@cache
def _all() -> dict[str, Asset]:
    font = _made("code.woff2", "font/woff2", (_STATIC / "fonts" / "code.woff2").read_bytes())
    style = stylesheet() + (_STATIC / "portal.css").read_text("utf-8")
    style = style.replace("url(code.woff2)", f"url(../{font.digest}/code.woff2)")
    made = [
        font,
        _made("tilelab.css", "text/css", style.encode()),
        _made("report.js", "text/javascript", script_text().encode()),
        _made("mark.svg", "image/svg+xml", (_STATIC / "mark.svg").read_bytes()),
    ]
    built = {file.name: file.read_bytes() for file in sorted((_STATIC / "build").glob("*.js"))}
    common = _digest(b"".join(built.values()))
    made += [_made(name, "text/javascript", content, common) for name, content in built.items()]
    return {one.name: one for one in made}


def _made(name: str, media_type: str, content: bytes, digest: str = "") -> Asset:
    packed = gzip.compress(content, 9, mtime=0)
    kept = packed if len(packed) < len(content) else None
    return Asset(name, media_type, content, kept, digest or _digest(content))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
