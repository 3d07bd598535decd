"""The look of every page: what it costs before first use, its sizes and weights from one place, and its colours."""

from __future__ import annotations

import re

import pytest

from kernels.rendering.page.render import stylesheet
from server.web.assets import _STATIC, _all
from tests.server.databases import ON_SQLITE
from tests.server.web.conftest import Portal

_STYLE = stylesheet() + (_STATIC / "portal.css").read_text("utf-8")


def test_styles_and_fonts_stay_within_their_budget():
    sent = [each.packed or each.content for each in _all().values() if each.media_type in {"text/css", "font/woff2"}]
    assert sum(map(len, sent)) <= 40_000


def test_the_code_font_has_its_licence_and_an_address_in_the_style():
    assert "SIL Open Font License" in (_STATIC / "fonts" / "code-OFL.txt").read_text("utf-8")
    assert f"url(../{_all()['code.woff2'].digest}/code.woff2)" in _all()["tilelab.css"].content.decode()


def test_weights_come_from_the_tokens():
    weights = re.findall(r"font(?:-weight)?: (\d00)\b(?! 700;)", _STYLE)
    assert not weights, weights


def test_text_sizes_come_from_the_tokens():
    sizes = re.findall(r"font-size: ([\d.]+(?:px|rem))", _STYLE)
    assert not sizes, sizes


@ON_SQLITE
@pytest.mark.parametrize(
    ("value", "scheme", "meta"), [("dark", "dark", "dark"), ("", "auto", "light dark"), ("x", "auto", "light dark")]
)
def test_a_chosen_scheme_is_in_the_page_itself(portal: Portal, value: str, scheme: str, meta: str):
    portal.client.set_cookie("tilelab-scheme", value)
    page = portal.client.get("/").get_data(as_text=True)
    assert f'name="color-scheme" content="{meta}"' in page
    assert re.search(rf'id="scheme-{scheme}"[^>]* checked', page)
