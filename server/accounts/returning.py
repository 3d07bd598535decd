"""Where somebody goes on after signing in: an address of this site, whoever wrote it."""

from __future__ import annotations

from urllib.parse import urlsplit

_LONGEST = 500


def own_path(text: str) -> str:
    """The path as it was given; "" where it could lead anywhere else, as what begins with two slashes does."""
    if not text.startswith("/") or len(text) > _LONGEST or not text.isprintable() or "\\" in text:
        return ""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or text.startswith("//"):
        return ""
    return text
