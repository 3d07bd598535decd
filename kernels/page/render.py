"""An analysis as one HTML file: it is read without a script, fetches nothing, and obeys no style but its own."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from kernels.analysis import Analysis
from kernels.evidence import State
from kernels.page import numbers
from kernels.page.bounds import light_bars, occupancy_view, roofline_of
from kernels.page.formula import typeset
from kernels.page.linked import linked
from kernels.page.margin import listing
from kernels.page.phases_view import phases_view
from kernels.page.summary import facts, figures, ran_text
from kernels.page.totals import groups
from kernels.page.views import VIEWS
from kernels.text_safety import safe

_HERE = Path(__file__).parent
_STATES = {
    State.YES: ("good", "✓", "yes"),
    State.PARTLY: ("fair", "◐", "partly"),
    State.NO: ("poor", "✗", "no"),
    State.NOT_NEEDED: ("none", "–", "not needed"),
}
_BASES = {
    "counted": "by running the kernel on Tilelab's CPU device: exact for the accesses and branches that it makes",
    "modelled": "from the counts and a device's limits: what it could do at best, not what it will do",
    "measured": "on a GPU, with a clock; nothing on this page is, unless it says so",
}


def render_page(analysis: Analysis, source: str, file: str = "") -> str:
    """The page.

    source: the text that was analysed
    file: what its author calls it
    """
    evidence = analysis.evidence
    style, script = stylesheet(), script_text()
    return (
        _environment()
        .get_template("page.html")
        .render(
            analysis=analysis,
            evidence=evidence,
            file=Path(file).name if file not in {"", "-"} else "kernel.cu",
            policy=_policy(style, script),
            style=Markup(style),  # noqa: S704 - our own file
            script=Markup(script),  # noqa: S704 - our own file
            bases=_BASES,
            facts=facts(analysis),
            figures=figures(analysis),
            ran=ran_text(evidence.extent) if evidence.extent else "",
            views=VIEWS,
            lines=listing(source, evidence.lines),
            groups=groups(evidence.totals) if evidence.extent else (),
            roofline=roofline_of(analysis),
            lights=tuple(light_bars(light) for light in evidence.light),
            occupancy=occupancy_view(analysis),
            states=_STATES,
            phases=phases_view(evidence.phases) if evidence.phases else None,
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


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {
        name: getattr(numbers, name)
        for name in (
            "count",
            "short",
            "ratio",
            "percent",
            "milliseconds",
            "gflops",
            "times",
            "size",
            "departure",
        )
    }
    environment.filters |= {"typeset": typeset, "linked": linked}
    return environment


def _shown(value: object) -> object:
    """Every text that goes into the page, unless it is markup of ours, with control and bidi characters spelled out."""
    return safe(value) if isinstance(value, str) and not isinstance(value, Markup) else value
