"""An analysis as one HTML file. It works without scripts, fetches nothing, and uses only its own style."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernels.analysis.model import Analysis
from kernels.evidence import PhaseTable
from kernels.occupancy import resource_title
from kernels.rendering.page import numbers
from kernels.rendering.page.charts.svg import bar
from kernels.rendering.page.context import BASES, context
from kernels.rendering.page.links import linked, typeset
from kernels.rendering.page.phases_view import phases_view
from kernels.rendering.text_safety import safe
from kernels.wording import sizes_text

_HERE = Path(__file__).parent
_NUMBERS = (
    "count", "short", "ratio", "percent", "milliseconds", "gflops", "times", "size", "departure",
)  # fmt: skip


def render_page(analysis: Analysis, source: str, file: str = "") -> str:
    """The page. source: the analysed text. file: its author's name for it."""
    return whole_page("page.html", dict(context(analysis, source)), file)


def render_handout_phases(table: PhaseTable, prefix: str) -> Markup:
    """The phases of a handout, as a part of its page. prefix: of all IDs."""
    part = environment().get_template("handout_phases.html").render(phases=phases_view(table, prefix))
    return Markup(part)  # noqa: S704 - the environment escapes


def whole_page(template: str, given: dict[str, object], file: str) -> str:
    style, script = stylesheet(), script_text()
    # A policy that forbids everything except this page's style and script, by their digests
    return (
        environment()
        .get_template(template)
        .render(
            **given,
            file=Path(file).name if file not in {"", "-"} else "kernel.cu",
            policy=f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
            "base-uri 'none'; form-action 'none'",
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
        )
    )


@cache
def environment() -> Environment:
    """The Jinja environment, created once per process. It escapes HTML and characters that would reorder text."""
    made = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    made.filters |= {name: getattr(numbers, name) for name in _NUMBERS}
    made.filters |= {"typeset": typeset, "linked": linked, "bar": bar}
    made.filters |= {"resource_title": resource_title, "sizes": sizes_text}
    made.globals["bases"] = BASES
    return made


def _shown(value: object) -> object:
    """Escape control and bidi characters in every text except Markup."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def stylesheet() -> str:
    """The style of an analysis: the tokens, then the rules that use them."""
    return _asset("tokens.css") + _asset("style.css")


def script_text() -> str:
    """The scripts that add convenience to the pages of analyses and experiments."""
    return _asset("script.js") + _asset("plots.js")


@cache
def _asset(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
