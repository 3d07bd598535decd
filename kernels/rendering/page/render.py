"""An analysis as one HTML file: it is read without a script, fetches nothing, and obeys no style but its own."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from markupsafe import Markup

from kernels.analysis.model import Analysis
from kernels.rendering.page.context import context
from kernels.rendering.page.environment import environment

_HERE = Path(__file__).parent


def render_page(analysis: Analysis, source: str, file: str = "") -> str:
    """The page.

    source: the text that was analysed
    file: what its author calls it
    """
    return whole_page("page.html", dict(context(analysis, source)), file)


def whole_page(template: str, given: dict[str, object], file: str) -> str:
    """A page that is complete in itself, of a template that shows what is given."""
    style, script = stylesheet(), script_text()
    return (
        environment()
        .get_template(template)
        .render(
            **given,
            file=Path(file).name if file not in {"", "-"} else "kernel.cu",
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
        )
    )


def _policy(style: str, script: str) -> str:
    """Everything is forbidden but this page's own style and script, known by their digests."""
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def stylesheet() -> str:
    """How an analysis looks: the tokens, then what is made of them."""
    return _asset("tokens.css") + _asset("style.css")


def script_text() -> str:
    """What makes a page of an analysis more convenient."""
    return _asset("script.js")


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
