"""The documents say what is so: their links lead somewhere, their commands exist, the output they show is real."""

from __future__ import annotations

import ast
import dataclasses
import re
import shlex
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path

import click
import pytest

from bin.documented_output import blocks, lasting, output_of, pages, rewrite, until
from kernels.exercise import list_exercises
from kernels.measurement import Clocks, Environment, Measurement
from kernels.occupancy.driver_answer import MeasuredOccupancy
from kernels.report import Report
from kernels.verdict import Verdict
from tests.marks import linux, some_of
from worker.commands.root import SERVER_VERBS, tilelab

ROOT = Path(__file__).resolve().parent.parent
PAGES = pages()
TARGETS = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
CODE = re.compile(r"```(?P<language>[a-z]*)\n(?P<block>.*?)```|`(?P<span>[^`\n]+)`", re.DOTALL)


def commands(page: Path) -> list[str]:
    """Every command line that a page tells its reader to type, without prompts and comments."""
    lines = []
    for match in CODE.finditer(page.read_text()):
        text = match["span"] or (match["block"] if match["language"] in {"sh", "console"} else "")
        lines += [re.sub(r"^\$ |\s+#.*$", "", line) for line in text.splitlines()]
    return lines


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_links_lead_somewhere(page):
    for file, heading in re.findall(r"\]\(([^)#\s:]*)(?:#([^)\s]+))?\)", page.read_text()):
        target = page.parent / file if file else page
        assert target.exists(), file
        assert not heading or heading in anchors(target), f"{file}#{heading}"


def anchors(page: Path) -> set[str]:
    """The addresses of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)", CODE.sub(r"\g<span>", page.read_text()), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_files_named_in_code_exist(page):
    text = re.sub(r"^New file `.*`", "", page.read_text(), flags=re.MULTILINE)
    spans = [match["span"] for match in CODE.finditer(text) if match["span"]]
    paths = [
        span for span in spans if re.fullmatch(r"(kernels|worker|tests|bin|bench|samples|locks|docs)/[\w./-]*", span)
    ]
    assert not [path for path in paths if not (ROOT / path).exists()]


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_make_targets_exist(page):
    asked = {word for line in commands(page) if (match := re.match(r"make ([a-z-]+)", line)) for word in match.groups()}
    assert asked <= TARGETS


def test_messages_quoted_for_operators_are_those_of_the_code():
    pages = "".join((ROOT / "docs" / page).read_text() for page in ("troubleshooting.md", "workers.md"))
    symptoms = " ".join(re.findall(r"^\| (.*?) \|", pages, flags=re.MULTILINE))
    quoted = [text for text in re.findall(r"`([^`]+)`", symptoms) if " " in text and "tilelab" not in text]
    assert len(quoted) > 50
    texts = "\n".join(strings())
    assert not [text for text in quoted if any(part.strip() not in texts for part in text.split("..."))]


def strings() -> Iterator[str]:
    """Every string of the program, and the shell scripts that install it."""
    for folder in ("kernels", "server", "worker"):
        for file in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value
    for script in ("find-python", "make-venv"):
        yield (ROOT / "bin" / script).read_text()


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_tilelab_commands_exist(page):
    for line in commands(page):
        if re.match(r"(\.venv/bin/)?tilelab( |$)", line):
            assert problem(shlex.split(line)[1:]) is None, line


def problem(words: list[str]) -> str | None:
    """What is wrong with a command line of `tilelab`: an unknown verb or option."""
    command: click.Command = tilelab
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(click.Context(command), words[0])
        if found is None:
            return f"no verb {words[0]}"
        command, words = found, words[1:]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
    unknown = [word for word in words if word.startswith("-") and word != "-" and word not in known]
    return f"no option {unknown[0]}" if unknown else None


def test_unknown_verbs_and_options_would_be_noticed():
    assert problem(["levitate", "my.cu"])
    assert problem(["grade", "my.cu", "--levitate"])
    assert problem(["worker", "levitate"])
    assert problem(["worker", "selftest", "--levitate"])
    assert problem(["worker", "selftest", "--json"]) is None
    assert problem(["grade", "my.cu", "--json"]) is None


def test_every_verb_and_option_is_described_for_students():
    text = (ROOT / "docs" / "students.md").read_text()
    names = [name for name in tilelab.list_commands(click.Context(tilelab)) if name not in SERVER_VERBS]
    assert not [name for name in names if f"tilelab {name}" not in text]
    for name in names:
        command = tilelab.get_command(click.Context(tilelab), name)
        assert command is not None
        assert not options_not_in(text, command)


def test_every_verb_and_option_of_a_worker_is_described_for_operators():
    assert not undescribed("worker", "server-reference.md")


def test_every_verb_and_option_of_experiments_is_described():
    assert not undescribed("experiment", "experiments.md")


@pytest.mark.parametrize("verb", ["serve", "up"])
def test_every_verb_and_option_of_the_server_is_described(verb):
    assert not undescribed(verb, "server-reference.md")


def test_every_verb_of_an_operator_is_described():
    text = "".join((ROOT / "docs" / page).read_text() for page in ("instructors.md", "server-reference.md"))
    admin = tilelab.get_command(click.Context(tilelab), "admin")
    assert not [name for name in verbs_of(admin, "tilelab admin") if name not in text]


def verbs_of(command: click.Command | None, name: str) -> list[str]:
    """The verbs of a group and of the groups in it, as they are typed."""
    if not isinstance(command, click.Group):
        return [name]
    context = click.Context(command)
    found = [(verb, command.get_command(context, verb)) for verb in command.list_commands(context)]
    return [one for verb, member in found for one in verbs_of(member, f"{name} {verb}")]


def undescribed(verb: str, page: str) -> list[str]:
    """What a page does not say of a verb, or of the verbs of a group."""
    text = (ROOT / "docs" / page).read_text()
    command = tilelab.get_command(click.Context(tilelab), verb)
    assert command is not None
    if not isinstance(command, click.Group):
        return [verb] * (f"tilelab {verb}" not in text) + options_not_in(text, command)
    missing = []
    for name in command.list_commands(click.Context(command)):
        member = command.get_command(click.Context(command), name)
        assert member is not None
        missing += [name] * (f"tilelab {verb} {name}" not in text) + options_not_in(text, member)
    return missing


def options_not_in(text: str, command: click.Command) -> list[str]:
    return [
        f"{command.name} {option.name}"
        for option in command.params
        if isinstance(option, click.Option) and not option.hidden and not any(each in text for each in option.opts)
    ]


@pytest.mark.parametrize(
    ("page", "section", "every"), [("students.md", "What a verdict means", True), ("glossary.md", "Verdicts", False)]
)
def test_a_table_has_every_verdict_in_order(page, section, every):
    text = (ROOT / "docs" / page).read_text().partition(f"\n## {section}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\|(?: \*\*([^*]+)\*\* \|)? `(\w+)` \|", text, re.MULTILINE)
    named = [value for _, value in rows]
    assert named == [verdict for verdict in Verdict if every or verdict in named]
    assert len(named) > 10
    assert all(heading in {"", Verdict(value).words.capitalize()} for heading, value in rows)


def test_a_table_of_a_gpu_names_verdicts_that_there_are():
    text = (ROOT / "docs" / "grading.md").read_text().partition("\n### Verdicts of a GPU\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE)
    assert rows
    assert set(rows) <= set(Verdict)


def test_every_exercise_is_listed_for_students():
    text = (ROOT / "docs" / "students.md").read_text()
    assert not [exercise.name for exercise in list_exercises() if f"| `{exercise.name}` |" not in text]


def test_every_make_target_is_explained_to_developers():
    text = (ROOT / "docs" / "developers.md").read_text()
    assert not [target for target in TARGETS - {"help"} if f"`make {target}" not in text]


@pytest.mark.parametrize("cls", [Report, Measurement, Clocks, Environment, MeasuredOccupancy])
def test_every_field_of_a_report_is_explained(cls):
    text = (ROOT / "docs" / "grading.md").read_text()
    names = {field.name for field in dataclasses.fields(cls)}
    assert not [name for name in names if f"`{name}`" not in text and f"`{name}[]`" not in text]


@linux
@pytest.mark.parametrize(
    "example",
    some_of(
        [(page, command) for page in PAGES for command in blocks(page)],
        10,
        itemgetter(1),
        "the short suite runs a tenth of the commands",
    ),
)
def test_the_output_shown_is_what_the_command_prints(example):
    page, command = example
    assert lasting(blocks(page)[command]) == lasting(output_of(command)), "run `make docs`"


def test_a_page_is_written_anew_only_when_something_lasting_changed(tmp_path):
    text = "Text.\n\n<!-- output of: tilelab grade a.cu -->\n```text\n{}\n```\nMore.\n"
    page = tmp_path / "page.md"
    page.write_text(text.format("wrong\n\nSeconds: read 0.01, check 1.20."))
    assert not rewrite(page, lambda _: "wrong\n\nSeconds: read 0.02, check 3.00.\n")
    assert "1.20" in page.read_text()
    assert rewrite(page, lambda _: "accepted\n")
    assert page.read_text() == text.format("accepted")


def test_part_of_an_output_ends_before_the_line_that_is_named():
    assert until("one\n\ntwo words\nthree\n", "two") == "one\n"
    assert until("one\n", "") == "one\n"
    with pytest.raises(RuntimeError):
        until("one\ntwo\n", "three")
