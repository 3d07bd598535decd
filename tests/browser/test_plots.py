"""The page of an experiment in a real browser: values by mouse and keyboard, series to hide, paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from kernels.experiment.plot.chosen import plot
from kernels.experiment.plot.model import Kind, Request
from kernels.rendering.page.experiment_page import render_experiment
from tests.browser.accessible import assert_accessible
from tests.browser.viewports import NARROW, WIDE
from tests.kernels.experiment.test_plot_drawings import BROKEN, REQUESTS
from tests.kernels.experiment.test_plot_kinds import BLOCKS

pytestmark = pytest.mark.long(
    "the short suite has one way through the browser, in test_course.py, and tests these pages without one"
)

DEFINITION = {"experiment": {"name": "Blocks"}}


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Page:
    """All kinds of plots on one page, opened from the disk."""
    results = [*BLOCKS, BROKEN]
    plots = [plot(results, request) for name, request in REQUESTS.items() if name != "counted"]
    file = tmp_path / "report.html"
    file.write_text(render_experiment(DEFINITION, results, {"Device": "H200"}, plots), "utf-8")
    page.goto(file.as_uri())
    return page


def test_everybody_can_use_the_page(opened: Page):
    assert_accessible(opened)


@pytest.mark.parametrize("viewport", [WIDE, NARROW])
def test_a_point_shows_its_values_by_mouse(opened: Page):
    figure = opened.locator("[data-plot]").first
    spot = figure.locator("g.spot").first
    spot.scroll_into_view_if_needed()
    box = spot.bounding_box()
    assert box is not None
    opened.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(figure.locator(".tip")).to_be_visible()
    expect(figure.locator(".tip")).to_contain_text("GFLOPS")
    opened.mouse.move(1, 1)
    expect(figure.locator(".tip")).to_be_hidden()


def test_the_arrow_keys_go_from_point_to_point(opened: Page):
    figure = opened.locator("[data-plot]").first
    figure.locator("svg").focus()
    tip, said = figure.locator(".tip"), []
    for key in ("Home", "ArrowRight", "End", "ArrowDown", "ArrowUp"):
        opened.keyboard.press(key)
        said.append(tip.text_content())
    assert len(set(said)) == 4
    assert said[2] == said[4]
    opened.keyboard.press("Escape")
    expect(tip).to_be_hidden()


def test_the_arrow_keys_go_over_a_heat_map(opened: Page):
    figure = opened.locator("[data-plot]:has(svg.heat)").first
    figure.locator("svg").focus()
    tip = figure.locator(".tip")
    opened.keyboard.press("Home")
    first = tip.text_content()
    opened.keyboard.press("ArrowDown")
    expect(tip).not_to_have_text(first or "")
    opened.keyboard.press("ArrowUp")
    expect(tip).to_have_text(first or "")


def test_a_series_can_be_hidden_by_its_name(opened: Page):
    figure = opened.locator("[data-plot]").first
    line = figure.locator("g.series").first
    number = line.get_attribute("data-series")
    name = line.get_attribute("data-name") or ""
    button = figure.get_by_role("button", name=name)
    button.click()
    expect(line).to_be_hidden()
    expect(button).to_have_attribute("aria-pressed", "false")
    figure.locator(f'g.key[data-series="{number}"]').click()
    expect(line).to_be_visible()
    expect(button).to_have_attribute("aria-pressed", "true")


def test_paper_has_the_plots_and_the_points_but_nothing_to_press(opened: Page):
    opened.emulate_media(media="print")
    assert opened.locator("[data-plot] svg").count() == len(REQUESTS) - 1
    for unwanted in (".keys", ".plotted"):
        assert not any(each.is_visible() for each in opened.locator(unwanted).all())
    expect(opened.locator("section table").last).to_be_visible()


def test_without_scripts_every_point_has_its_values(browser, tmp_path):
    file = tmp_path / "report.html"
    drawn = plot(BLOCKS, Request(Kind.LINE, "X", by="Y"))
    file.write_text(render_experiment(DEFINITION, BLOCKS, {}, [drawn]), "utf-8")
    with browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.goto(file.as_uri())
        assert page.locator("g.spot > title").count() == 6
