"""Handouts as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from kernels.rendering.page.listing.syntax import coloured

_FIRST_LEVEL = 3
"""The top heading level in a handout: level 1 is the assignment's title, level 2 the section "Handout"."""


@lru_cache(maxsize=64)
def render(text: str, figures: frozenset[str], address: str) -> Markup:
    """Render a handout as HTML, without its title. HTML in the handout is shown as text.

    figures: the names of existing figures
    address: the address before their names, "…/figures/"
    """
    reader = MarkdownIt("commonmark", {"html": False}, renderer_cls=_Renderer).enable("table")
    tokens = _below_title(reader.parse(text))
    given = {"figures": figures, "address": address}
    return Markup(reader.renderer.render(tokens, reader.options, given))  # noqa: S704 - the renderer escapes all text


class _Renderer(RendererHTML):
    """Renders only figures of the exercise, colours code, and lets wide tables scroll."""

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
        language = token.info.strip().partition(" ")[0]
        text = _in_colours(token.content) if language in {"cuda", "c", "cpp"} else escape(token.content)
        return f'<pre tabindex="0"><code>{text}</code></pre>\n'

    def table_open(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        return '<div class="scroll" tabindex="0"><table class="table">\n'

    def table_close(self, tokens: Sequence[Token], at: int, options: OptionsDict, env: Any) -> str:  # noqa: ARG002
        return "</table></div>\n"


def _below_title(tokens: Sequence[Token]) -> Sequence[Token]:
    """Remove the title, and lower the other headings below the page's headings."""
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        tokens = tokens[3:]
    levels = [int(token.tag[1]) for token in tokens if token.type == "heading_open"]
    lower = _FIRST_LEVEL - min(levels, default=_FIRST_LEVEL)
    for token in tokens:
        if token.type in {"heading_open", "heading_close"}:
            token.tag = f"h{min(6, int(token.tag[1]) + lower)}"
    return tokens


def _in_colours(text: str) -> str:
    return "\n".join(
        "".join(
            f'<i class="{piece.kind}">{escape(piece.text)}</i>' if piece.kind else escape(piece.text)
            for piece in line
        )
        for line in coloured(text)
    )
