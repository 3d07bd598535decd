from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from itertools import pairwise

import pytest

from kernels.analysis.model import Analysis
from kernels.compile.diagnostics import Diagnostic
from kernels.evidence import Advice, Evidence, GoalResult, LineEvidence
from kernels.rendering.page.render import render_page
from kernels.rendering.page.summary import figures
from kernels.verdict import Finding, Severity, Verdict
from tests.kernels.page.page_text import read
from tests.kernels.page.sample import ANALYSIS, EVIDENCE, LAUNCH, SOURCE, access

HTML = render_page(ANALYSIS, SOURCE, "turned.cu")
PAGE = read(HTML)
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'onmouseover='alert(1)",
    "</style><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "<!-- ]]> &lt;b&gt;",
]
UNSAFE = "\u202e\u2066\u200f\x1b\x00\u2028"


def test_tags_nest_and_nothing_stays_open():
    assert not PAGE.wrong
    assert not PAGE.open


def test_every_name_is_given_once():
    names = PAGE.values("id")
    assert len(names) == len(set(names))


def test_every_reference_leads_to_something_on_the_page():
    names = set(PAGE.values("id"))
    wanted = {link.removeprefix("#") for link in PAGE.values("href")}
    wanted |= {name for given in PAGE.values("aria-labelledby") for name in given.split()}
    assert wanted - names == set()
    assert all(link.startswith("#") for link in PAGE.values("href"))


def test_the_modelled_bound_names_the_size_that_it_is_for():
    light = replace(EVIDENCE.light[0], sizes={"Width": 2048})
    analysis = replace(ANALYSIS, evidence=replace(EVIDENCE, light=(light,)))
    notes = {each.title: each.note for each in figures(analysis)}
    assert "2,048" in notes["Speed of light"]


def test_nothing_is_fetched():
    assert not {"src", "srcset", "action", "data", "poster"} & {name for _, found in PAGE.tags for name in found}
    assert not {"link", "img", "iframe", "object", "base", "form"} & {tag for tag, _ in PAGE.tags}
    addresses = set(re.findall(r"\w+://[^\s\"'<)]+", HTML))
    assert addresses <= {"http" + "://www.w3.org/2000/svg"}  # a name, not an address
    assert "@import" not in HTML
    assert "url(" not in HTML


def test_the_policy_allows_its_own_style_and_script_alone():
    (policy,) = (meta["content"] for meta in PAGE.all("meta") if meta.get("http-equiv") == "Content-Security-Policy")
    assert policy
    rules = {name: value for name, _, value in (rule.strip().partition(" ") for rule in policy.split(";"))}
    assert rules["default-src"] == "'none'"
    for tag, rule in (("style", "style-src"), ("script", "script-src")):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", HTML, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    # What such a policy would refuse must not be there.
    assert not PAGE.values("style")
    assert not [name for _, found in PAGE.tags for name in found if name.startswith("on")]


@pytest.mark.parametrize(
    "section",
    [
        "first", "source", "goals", "checklist", "totals", "theory", "bounds", "occupancy", "phases", "notes",
        "glossary",
    ],
)  # fmt: skip
def test_every_section_is_there_and_can_be_reached(section):
    assert section in PAGE.values("id")
    assert f"#{section}" in PAGE.values("href")


def test_headings_go_down_one_step_at_a_time():
    levels = [int(tag[1]) for tag, _ in PAGE.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_tables_name_their_rows_and_columns():
    assert all(cell.get("scope") in {"col", "row", "colgroup"} for cell in PAGE.all("th"))
    assert len(PAGE.all("caption")) == len(PAGE.all("table"))


def test_pictures_are_told_in_words_or_stand_beside_them():
    for picture in PAGE.all("svg"):
        assert picture.get("aria-hidden") == "true" or (picture["role"] == "img" and picture["aria-labelledby"])


def test_a_phone_gets_its_own_width():
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in PAGE.all("meta")
    scrolled = re.findall(r'<div class="(?:scroll|listing)"', HTML)
    assert len(scrolled) >= 5


def test_the_numbers_of_the_sample_are_shown():
    words = PAGE.text().replace("\N{NO-BREAK SPACE}", " ")
    for shown in (
        "65,536",
        "1,572,864",
        "3,670,016",
        "8-way conflict",
        "4-way conflict",
        "+12.5 %",
        "15.52",
        "256 blocks",
    ):
        assert shown in words, shown
    assert "256<sup>3</sup>" in HTML


def test_both_numbers_of_a_goal_have_its_unit():
    goal = GoalResult("Load less", "global_load_bytes", 8_388_608, 33_554_432, met=True)
    page = render_page(replace(ANALYSIS, evidence=replace(EVIDENCE, goals=(goal,))), SOURCE)
    assert "8,388,608 bytes counted, at most 33,554,432 bytes" in page


def test_every_line_can_be_linked_to():
    lines = SOURCE.count("\n")
    assert [name for name in PAGE.values("id") if re.fullmatch(r"L\d+", name)] == [
        f"L{number}" for number in range(1, lines + 1)
    ]


def test_the_source_is_shown_as_it_is():
    listed = re.findall(r"<code>(.*?)</code>(?:</summary>|</div>)", HTML)
    shown = [re.sub(r"</?i[^>]*>", "", line) for line in listed]
    assert [read(line).text() for line in shown] == SOURCE.rstrip("\n").split("\n")


def test_a_usual_page_is_small():
    assert len(HTML.encode()) < 300_000


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_wherever_it_comes_in(text):
    html = render_page(hostile(text), f"{text}\n// {text}\n", text)
    page = read(html)
    assert not page.wrong
    assert text not in html or "{{" in text  # braces mean nothing to a browser
    assert len(page.all("script")) == 1
    assert len(page.all("style")) == 1
    assert not page.all("img")
    assert not [name for _, found in page.tags for name in found if name.startswith("on")]
    assert page.text().count(text) >= 10


def test_characters_that_reorder_or_control_are_spelled_out():
    html = render_page(hostile(UNSAFE), f"int a; // {UNSAFE}\n", UNSAFE)
    assert not [char for char in UNSAFE if char in html]
    assert "\\u202e" in html


def test_large_sources_make_a_page():
    wide = render_page(Analysis("tiled", "sm_90", 16), "x" * 65_536, "wide.cu")
    assert not read(wide).wrong
    tall = render_page(Analysis("tiled", "sm_90", 16), "/*\n" * 5_000, "tall.cu")
    assert 'id="L2000"' in tall
    assert len(tall) < 800_000


def test_an_analysis_without_evidence_says_why():
    finding = Finding(Verdict.COMPILE_ERROR, "Expected a ;.", line=1)
    failed = Analysis("tiled", "sm_90", 16, message="The kernel does not compile.", findings=(finding,))
    page = read(render_page(failed, "int x\n", "-"))
    assert not page.wrong
    assert "The kernel does not compile." in page.text()
    assert "#L1" in page.values("href")
    assert "totals" not in page.values("id")


def test_a_line_beyond_the_file_is_no_link():
    evidence = replace(EVIDENCE, advice=(Advice("Line 99 is odd.", 99),), lines=(LineEvidence(99, 32, 1, 0),))
    page = read(render_page(replace(ANALYSIS, evidence=evidence), SOURCE))
    assert "#L99" not in page.values("href")


def hostile(text: str) -> Analysis:
    """The sample with a text in every place where one can come from outside."""
    checklist = tuple(replace(row, title=text, evidence=text, advice=text) for row in EVIDENCE.checklist)
    theory = tuple(replace(row, title=text, formula=text, note=text) for row in EVIDENCE.theory)
    lines = (
        replace(
            EVIDENCE.lines[1],
            line=1,
            accesses=(access("shared", EVIDENCE.lines[1].accesses[0].verb, text, 4, each=2, ideal=1, note=text),),
        ),
    )
    phases, extent = EVIDENCE.phases, EVIDENCE.extent
    assert phases is not None
    assert extent is not None
    fetch = replace(phases.phases[0].blocks[0].fetches[0], element=f"{text}[0][0]")
    block = replace(phases.phases[0].blocks[0], fetches=(fetch,))
    phase = replace(phases.phases[0], blocks=(block,))
    evidence = Evidence(
        extent=replace(extent, note=text, sizes={text: 4}),
        lines=lines,
        totals=EVIDENCE.totals,
        theory=theory,
        light=tuple(replace(light, sizes={text: 1}) for light in EVIDENCE.light),
        checklist=checklist,
        advice=(Advice(text, 1),),
        goals=tuple(replace(goal, text=text) for goal in EVIDENCE.goals),
        phases=replace(phases, phases=(phase,), note=text, sizes={text: 4}),
        notes=(text,),
    )
    return Analysis(
        exercise=text,
        arch="sm_90",
        tile=16,
        message=text,
        sizes={text: 4},
        launch=LAUNCH,
        evidence=evidence,
        occupancy=ANALYSIS.occupancy,
        resources=ANALYSIS.resources,
        findings=(Finding(Verdict.DATA_RACE, text, line=1),),
        warnings=(Diagnostic(1, 1, Severity.WARNING, text),),
        isolation=(text,),
    )


def test_counts_of_a_run_that_was_stopped_are_not_called_exact():
    extent = EVIDENCE.extent
    assert extent is not None
    stopped = replace(ANALYSIS, evidence=replace(EVIDENCE, extent=replace(extent, exact=False)))
    page = render_page(stopped, SOURCE, "turned.cu")
    assert "the counts are exact" not in page
    assert "the counts are exact" in HTML
