"""Handouts and other texts of course staff as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from kernels.exercise import ExerciseError, read_exercise
from kernels.phases.handout import handout_phases
from kernels.rendering.page.listing.syntax import coloured
from kernels.rendering.page.render import render_handout_phases
from kernels.rendering.text_safety import safe_lines
from server.bounded_work import bounded

_FIRST_LEVEL = 3
"""The top heading level in a handout: level 1 is the assignment's title, level 2 the section "Handout"."""

_BELOW_TITLE = 4
"""The top heading level in a text with a title on level 3."""


@lru_cache(maxsize=64)
def render(text: str, figures: frozenset[str], address: str, name: str, definition: str) -> Markup:
    """Render a handout as HTML, without its title. HTML in the handout is shown as text.

    figures: the names of existing figures
    address: the address before their names, "…/figures/"
    name, definition: of the handout's exercise
    """
    return Markup(bounded(_handout, text, sorted(figures), address, name, definition))  # noqa: S704 - see _Renderer


@lru_cache(maxsize=64)
def render_text(text: str) -> Markup:
    """Render a text of course staff as HTML, like a handout, but without images.

    Control and format characters are spelled out, so that none reorders the page.
    """
    return Markup(bounded(_text, text))  # noqa: S704 - see _Renderer


def _handout(text: str, figures: Sequence[str], address: str, name: str, definition: str) -> str:
    reader = _reader()
    tokens = _lowered(_without_title(reader.parse(text)), _FIRST_LEVEL)
    given = {"figures": figures, "address": address, "phases": _phases(text, name, definition)}
    return str(reader.renderer.render(tokens, reader.options, given))


def _text(text: str) -> str:
    reader = _reader()
    tokens = _lowered(reader.parse("\n".join(safe_lines(text))), _BELOW_TITLE)
    given: dict[str, Any] = {"figures": frozenset(), "address": "", "phases": {}}
    return str(reader.renderer.render(tokens, reader.options, given))


def _phases(text: str, name: str, definition: str) -> Mapping[int, Markup]:
    """The tables of phases by the line of their fence; none if one has a mistake."""
    try:
        found = handout_phases(text, read_exercise(name, definition), Path(name))
    except ExerciseError:
        return {}
    return {each.line: render_handout_phases(each.table, f"handout-{each.line}-") for each in found}


def _reader() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")


class _Renderer(RendererHTML):
    """Escapes all text. Renders only figures of the exercise, draws phases, colours code, and lets tables scroll."""

    def image(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:
        """Render an existing figure; for any other image, only its description."""
        token = tokens[at]
        words = self.renderInlineAsText(token.children or [], options, env).replace("\n", " ")
        name = str(token.attrs.get("src", ""))
        if name not in env["figures"]:
            return f"<em>{escape(words)}</em>"
        return f'<img src="{escape(env["address"] + name)}" alt="{escape(words)}" loading="lazy">'

    def fence(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        token = tokens[at]
        if token.level == 0 and token.map and (phases := env["phases"].get(token.map[0] + 1)):
            return str(phases)
        language = token.info.strip().partition(" ")[0]
        text = _in_colours(token.content) if language in {"cuda", "c", "cpp"} else escape(token.content)
        return f'<pre tabindex="0"><code>{text}</code></pre>\n'

    def table_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        return '<div class="scroll" tabindex="0"><table class="table">\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        return "</table></div>\n"


def _without_title(tokens: Sequence[Token]) -> Sequence[Token]:
    titled = tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    return tokens[3:] if titled else tokens


def _lowered(tokens: Sequence[Token], first: int) -> Sequence[Token]:
    """Lower the headings below the page's headings. first: their new top level."""
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    lower = first - min(levels, default=first)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + lower)}"
    return tokens


def _in_colours(text: str) -> str:
    return "\n".join(
        "".join(
            f'<i class="{piece.kind}">{escape(piece.text)}</i>' if piece.kind else escape(piece.text) for piece in line
        )
        for line in coloured(text)
    )
