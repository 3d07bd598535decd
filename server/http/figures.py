"""Figures of handouts, which pages show as images."""

from __future__ import annotations

from flask import Response


def figure_answer(content: bytes, name: str) -> Response:
    """An SVG figure. A browser runs no script in an image. Opened by its address, it is a download."""
    answer = Response(content, mimetype="image/svg+xml")
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer
