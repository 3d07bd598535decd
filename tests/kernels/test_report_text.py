"""What a student reads."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kernels.compile.diagnostics import Diagnostic, Resources
from kernels.facts import Access, AccessKind, Facts, Mistake
from kernels.launch import Launch
from kernels.rendering.page.report_page import ReportContext, render_sections
from kernels.rendering.report import NEXT, log_text, render
from kernels.rendering.text_safety import cut, safe, split_columns
from kernels.rendering.text_style import Style
from kernels.report import Report, from_json, launch_sentence, message_for, to_json
from kernels.verdict import CaseCheck, CaseStatus, Finding, Severity, Verdict
from tests.kernels.explanations import with_source
from tests.kernels.facts_of import at

SOURCE = "\n".join(f"    statement{n};" for n in range(1, 41))
RACE = Finding(
    kind=Verdict.DATA_RACE,
    message="Thread (3,1) of block (0,1) writes `Mds[0][3]`. Thread (3,0) reads it.",
    line=14,
    other_line=11,
    count=240,
    example=at("Mds[0][3]", block=(0, 1, 0), threads=((3, 0, 0), (3, 1, 0)), case="Width=17 integers_left"),
    facts=Facts(accesses=(Access((3, 1), AccessKind.WRITE, 11), Access((3, 0), AccessKind.READ, 14))),
)
PLAIN = Style()


def report(*findings: Finding, verdict: Verdict = Verdict.DATA_RACE, **changes: object) -> Report:
    values: dict[str, object] = {
        "verdict": verdict,
        "message": findings[0].message if findings else "Correct in 2 of 2 cases, bit-exact.",
        "exercise": "tiled",
        "device": "cpu",
        "arch": "sm_90",
        "tile": 16,
        "findings": findings,
        "checks": (
            CaseCheck("Width=16 integers_left", CaseStatus.PASSED),
            CaseCheck("Width=17 integers_left", CaseStatus.FAILED, "data race"),
            CaseCheck("Width=2048 integers_left", CaseStatus.NOT_RUN, "too large for the CPU device"),
        ),
        "seconds": {"compile": 0.25},
        "resources": Resources(32, 2048, 0, 0, 0, 0, 1),
        "launch": Launch((2, 2, 1), (16, 16, 1), 0),
        "seed": "0f" * 16,
    } | changes
    return Report(**values)  # type: ignore[arg-type]


def test_every_verdict_has_its_sentence_and_its_advice():
    for verdict in Verdict:
        assert verdict.headline
        assert bool(verdict.advice) == (verdict is not Verdict.ACCEPTED)


def test_a_report_comes_back_from_its_json():
    value = report(RACE)
    plain = json.loads(json.dumps(to_json(value)))
    assert from_json(plain) == value
    assert plain["findings"][0]["example"]["block"] == [0, 1, 0]
    assert plain["measurement"] is None
    assert {"lines", "totals", "theory", "phases", "checklist"} <= plain["evidence"].keys()


def test_the_message_is_the_first_error_of_the_verdict_itself():
    wrong = Finding(Verdict.WRONG_ANSWER, "P is wrong.")
    warning = Finding(Verdict.DATA_RACE, "maybe", severity=Severity.WARNING)
    assert message_for(Verdict.DATA_RACE, (warning, wrong, RACE), ()) == RACE.message
    assert message_for(Verdict.SYSTEM_ERROR, (), ()) == Verdict.SYSTEM_ERROR.headline


def test_both_lines_of_a_race_are_shown_and_marked():
    lines = render(report(RACE), SOURCE, "my.cu", PLAIN).splitlines()
    eleven = lines.index("  11 |     statement11;")
    fourteen = lines.index("  14 |     statement14;")
    assert lines[eleven + 1].strip().startswith("|     ^^^^^^^^^^^^ write")
    assert lines[fourteen + 1].strip().startswith("|     ^^^^^^^^^^^^")
    assert RACE.count_text in "\n".join(lines)


@pytest.mark.parametrize(
    ("finding", "headline"),
    [
        (RACE, "Data race between lines 11 and 14"),
        (Finding(Verdict.DATA_RACE, "", 14, 14), "Data race at line 14"),
        (Finding(Verdict.BARRIER_DIVERGENCE, "", 14, 11), "Barrier divergence at lines 11 and 14"),
        (Finding(Verdict.COMPILE_ERROR, "", 3, column=5), "Compile error at line 3, column 5"),
        (Finding(Verdict.WRONG_ANSWER, ""), "Wrong answer"),
        (Finding(Verdict.DATA_RACE, "", 2, severity=Severity.WARNING), "Warning: data race at line 2"),
    ],
)
def test_a_headline_names_the_lines(finding, headline):
    assert finding.headline == headline


def test_the_verdict_card_links_the_lines_of_its_first_finding():
    html = str(render_sections(report(RACE), SOURCE, ReportContext("my.cu")))
    card = html.partition('<p class="where">')[2].partition("</p>")[0]
    assert '<a class="to" href="#L11">11</a> and <a class="to" href="#L14">14</a>' in card
    assert "Read; write at" in html
    assert "Write; read at" in html


def test_a_log_explains_a_verdict_as_the_report_does():
    found = report(RACE)
    log, whole = log_text(found, SOURCE, PLAIN), render(found, SOURCE, "my.cu", PLAIN)
    sentence, *explained = log.split("\n\n")
    assert sentence in whole
    assert "\n\n".join(explained) in whole
    assert explained[-1].startswith(NEXT)
    assert " ".join(log.split()).count(RACE.message) == 1


def test_a_log_has_all_findings_and_whole_lines_of_output():
    races = [Finding(Verdict.DATA_RACE, f"race {line}", line) for line in range(1, 31)]
    log = log_text(report(*races, printed="x" * 500 + "\n", printed_case="Width=1"), SOURCE, PLAIN)
    assert [each.message for each in races if each.message not in log] == []
    assert "x" * 500 in log


@pytest.mark.parametrize("draw", [log_text, lambda *given: render(given[0], given[1], "my.cu", given[2])])
def test_a_system_error_is_said_once(draw):
    empty = Finding(Verdict.SYSTEM_ERROR, Verdict.SYSTEM_ERROR.headline)
    found = report(empty, verdict=Verdict.SYSTEM_ERROR, message="The worker was lost.", checks=())
    text = draw(found, SOURCE, PLAIN)
    assert text.count("The worker was lost.") == 1
    assert empty.message not in text
    assert empty.headline not in text
    caused = replace(found, findings=(replace(empty, message="The sandbox did not start."),))
    assert "The sandbox did not start." in draw(caused, SOURCE, PLAIN)


def test_lines_far_apart_are_shown_with_a_gap():
    text = render(report(Finding(Verdict.DATA_RACE, "r", 30, 5)), SOURCE, "my.cu", PLAIN)
    assert "statement5;" in text
    assert "statement30;" in text
    assert "statement15;" not in text
    assert "     ..." in text


def test_a_finding_without_a_line_or_past_the_end_shows_no_excerpt():
    for line in (None, 4000):
        text = render(report(Finding(Verdict.DATA_RACE, "r", line)), SOURCE, "my.cu", PLAIN)
        assert "statement" not in text


def test_the_failing_case_can_be_run_again():
    text = render(report(RACE), SOURCE, "my kernel.cu", PLAIN, ["--tile", "8"])
    command = "tilelab grade 'my kernel.cu' --tile 8 --case 'Width=17 integers_left' --seed " + "0f" * 16
    assert command in text
    assert "1 of 2 passed" in text
    assert "not run  Width=2048" in text


def test_an_accepted_report_gives_no_advice():
    passed = (CaseCheck("Width=1 real", CaseStatus.PASSED),)
    text = render(report(verdict=Verdict.ACCEPTED, checks=passed), SOURCE, "my.cu", PLAIN)
    assert text.startswith("my.cu: accepted\nCorrect in 2 of 2 cases")
    assert NEXT not in text
    assert "tilelab grade" not in text


def test_no_line_is_wider_than_the_terminal():
    source = "\n".join("x" * 300 for _ in range(20))
    checks = (CaseCheck("Width=17 integers_left", CaseStatus.FAILED, "n" * 200),)
    warnings = (Diagnostic(3, 1, Severity.WARNING, "w" * 200),)
    value = report(RACE, checks=checks, printed="p" * 500, printed_case="c", warnings=warnings)
    text = render(value, source, "f" * 200 + ".cu", PLAIN)
    for line in text.splitlines():
        assert len(line) <= 80 or line.startswith("  tilelab grade")


@pytest.mark.parametrize("evil", ["\033[2J", "\x9b31m", "a\rb", "\u202e", "\u2028", "\x07", "\x00", "\udcff"])
def test_hostile_text_reaches_no_terminal(evil):
    finding = Finding(Verdict.DATA_RACE, f"message {evil}", 1)
    note = (CaseCheck("Width=17 integers_left", CaseStatus.FAILED, evil),)
    value = report(finding, printed=evil, printed_case="c", checks=note, isolation=())
    for style in (PLAIN, Style(unicode=True)):
        text = render(value, f"int a; // {evil}", f"{evil}.cu", style)
        assert evil not in text
        assert all(char == "\n" or char.isprintable() for char in text)


def test_plain_style_is_ascii_without_colour():
    text = render(report(RACE), "float größe; // │ 你好", "grün.cu", PLAIN)
    assert text.isascii()
    assert "\033" not in text


def test_colour_is_used_where_it_is_allowed():
    assert "\033[31;1mdata race\033[0m" in render(report(RACE), SOURCE, "my.cu", Style(colour=True))


def test_tabs_and_wide_characters_keep_the_marker_in_place():
    text = render(report(Finding(Verdict.OUT_OF_BOUNDS, "r", 1)), "\tchar 你;", "my.cu", Style(unicode=True))
    assert "1 │     char 你;\n      │     ^^^^^^^^\n".replace("      │", "    │") in text


def test_long_text_is_cut_and_short_text_is_not():
    assert cut("abcdef", 6) == "abcdef"
    assert cut("abcdefg", 6) == "abc..."
    assert cut("你你你你", 7) == "你你..."
    assert split_columns("abcdefg", 3) == ["abc", "def", "g"]
    assert split_columns("你你你", 5) == ["你你", "你"]
    assert split_columns("", 5) == [""]
    assert safe("a\tb") == "a   b"


def test_printed_text_is_shown_and_bounded():
    printed = "\n".join(f"line {n}" for n in range(100)) + "\n"
    text = render(report(RACE, printed=printed, printed_case="Width=1 real"), SOURCE, "my.cu", PLAIN)
    assert "(case Width=1, real numbers)" in text
    assert "line 19\n" in text
    assert "line 20" not in text
    assert "80 more lines" in text


def test_what_is_not_enforced_is_said():
    gaps = ("the network is reachable from the sandbox",)
    assert "Not enforced on this machine: the network" in render(report(RACE, isolation=gaps), SOURCE, "my.cu", PLAIN)


def advice(*findings: Finding, source: str = SOURCE, **changes: object) -> str:
    found = with_source(report(*findings, verdict=findings[0].kind, **changes), source.splitlines())
    text = render(found, source, "my.cu", Style(width=400))
    return text.partition(f"{NEXT}\n")[2].partition("\n\n")[0]


def test_where_threads_wait_is_not_called_an_access():
    waiting = Finding(Verdict.BARRIER_DIVERGENCE, "waits", 14, 11)
    lines = render(report(waiting, verdict=waiting.kind), SOURCE, "my.cu", PLAIN).splitlines()
    assert lines[lines.index("  11 |     statement11;") + 1].endswith("^ others wait here")
    assert lines[lines.index("  14 |     statement14;") + 1].endswith("^ these threads wait here")


@pytest.mark.parametrize("comment", ["//!tilelab block=(0,16)", "  // ! TILELAB shared=-4 // mine"])
def test_a_launch_that_the_comment_asks_for_is_to_be_corrected_there(comment):
    finding = Finding(Verdict.RESOURCE_LIMIT, "block.x is 0.", 1)
    assert "Correct the `//!tilelab` comment" in advice(finding, source=f"{comment}\nint a;")
    assert "smaller" in advice(finding, source="int a; // tilelab\nint b;")
    assert "smaller" in advice(Finding(Verdict.RESOURCE_LIMIT, "too much shared memory"))


def test_only_host_code_is_advised_to_be_put_aside():
    host = Finding(Verdict.REJECTED, "", 1, facts=Facts(Mistake.HOST_CODE))
    assert "only the kernel" in advice(host)
    assert advice(Finding(Verdict.REJECTED, "The file is empty.")) == ""


def test_few_threads_may_be_why_a_kernel_takes_too_long():
    endless = Finding(Verdict.TIME_LIMIT, "does not end", 3)
    few = Launch((1, 1, 1), (4, 1, 1), 0)
    assert "This launch has 4 threads in all" in advice(endless, launch=few)
    assert "threads in all" not in advice(endless)
    assert "threads in all" not in advice(endless, launch=None)


@pytest.mark.parametrize("source", ["\x7fELF\0\0\0\n\0", "\ufffd\ufffd_\0_\0g\0l\0", "\ufffd\ufffda\ufffd"])
def test_what_is_no_text_is_not_shown(source):
    text = render(report(Finding(Verdict.REJECTED, "not text", 1), verdict=Verdict.REJECTED), source, "my.cu", PLAIN)
    assert "^" not in text


def test_a_line_with_one_byte_that_cannot_be_read_is_shown():
    text = render(report(Finding(Verdict.REJECTED, "not UTF-8", 1)), "// Gr\ufffd\ufffde in Bytes", "my.cu", PLAIN)
    assert "// Gr" in text


def test_a_comment_that_was_not_read_is_a_warning_with_any_verdict():
    unread = Finding(Verdict.REJECTED, "is not read", 1, severity=Severity.WARNING)
    text = render(report(RACE, unread), SOURCE, "my.cu", PLAIN)
    assert "\n\nNote at line 1\n" in text
    accepted = render(report(unread, verdict=Verdict.ACCEPTED), SOURCE, "my.cu", PLAIN)
    assert "\n\nNote at line 1\n" in accepted
    assert "rejected" not in text + accepted


@pytest.mark.parametrize(
    ("grid", "block", "text"),
    [
        ((4, 4, 1), (16, 16, 1), "4 x 4 blocks of 16 x 16 threads"),
        ((1, 1, 1), (256, 1, 1), "1 block of 256 threads"),
        ((65536, 1, 2), (8, 1, 4), "65,536 x 1 x 2 blocks of 8 x 1 x 4 threads"),
    ],
)
@pytest.mark.parametrize("verdict", [Verdict.ACCEPTED, Verdict.DATA_RACE])
def test_every_report_says_what_was_launched(grid, block, text, verdict):
    found = report(
        verdict=verdict, launch=Launch(grid, block, 0), launch_sizes={"Width": 67}, launch_note="By `TS` (line 3)."
    )
    assert f"Launched as {text} (largest case, Width=67). By `TS` (line 3)." in " ".join(
        render(found, SOURCE, "my.cu", PLAIN).split()
    )
    assert "(largest case)" in launch_sentence(replace(found, launch_sizes={})), "a report of an older version"
    html = str(render_sections(found, SOURCE, ReportContext("my.cu"))).replace("\N{NO-BREAK SPACE}", " ")
    assert f"Launched as {text.replace(' x ', ' × ')}" in html
    assert '<a class="to" href="#L3">line 3</a>' in html


def test_what_was_never_launched_has_no_launch():
    assert "Launched" not in render(report(launch=None), SOURCE, "my.cu", PLAIN)
