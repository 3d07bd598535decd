"""What the commands make of what a portal answers: their lines, and their exit codes."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kernels.report import Report, to_json
from kernels.verdict import Verdict
from tests.worker.portal.test_hostile_portal import FOUND, PROBLEM, Hostile, hostile
from worker.client import portal as asking
from worker.commands.root import tilelab

__all__ = ["hostile"]
ASSIGNMENT = {"id": "gpu/tiled", "title": "Tiled", "device_class": "", "open": True, "page": "/courses/gpu/tiled/"}
MINE = "/api/v1/submissions?limit=10"
Answer = tuple[int, str, bytes, dict[str, str]]


@pytest.fixture(autouse=True)
def signed_in(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILELAB_URL", hostile.portal.url)
    monkeypatch.setenv("TILELAB_TOKEN", "tl_secret")
    monkeypatch.setattr("time.sleep", lambda _: None)


def run(*words: str) -> Result:
    return CliRunner().invoke(tilelab, words)


def says(hostile: Hostile, path: str, body: Any, status: int = 200, kind: str = "application/json") -> None:
    hostile.by_path[path] = (status, kind, json.dumps(body).encode(), {})


def line_of(result: Result, code: int) -> str:
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize("status", [500, 501, 503, 507])
def test_a_fault_of_the_portal_is_the_systems(hostile: Hostile, status: int) -> None:
    hostile.says({"detail": "A fault \x1b[2Jinside.", "code": "fault"}, status, PROBLEM)
    for words in (["status"], ["log"], ["open", "tiled"], ["leaderboard"], ["cancel", "a1"]):
        assert "A fault \\x1b[2Jinside." in line_of(run(*words), 3)


def test_handing_in_is_tried_again_through_a_fault(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "PATIENCE_SECONDS", 0.0)
    (tmp_path / "my.cu").write_text("// a kernel\n")
    hostile.says({"detail": "A fault inside."}, 500, PROBLEM)
    assert run("submit", str(tmp_path / "my.cu"), "-a", "gpu/tiled").exit_code == 3


def test_a_page_is_opened_by_the_name_of_its_assignment(hostile: Hostile) -> None:
    says(hostile, "/api/v1/assignments", {"assignments": [ASSIGNMENT]})
    says(hostile, "/api/v1/submissions/a1", FOUND)
    hostile.says({"title": "None", "detail": "Words of the API.", "code": "no_such_submission"}, 404, PROBLEM)
    url = hostile.portal.url
    for name in ("tiled", "gpu/tiled"):
        assert run("open", name, "--print").stdout == f"{url}/courses/gpu/tiled/\n"
    for name in ("a1", f"{url}/submissions/a1"):
        assert run("open", name, "--print").stdout == f"{url}/submissions/a1\n"
    neither = line_of(run("open", "tilde", "--print"), 2)
    assert neither.startswith("tilelab: no assignment or submission tilde")
    for words in (["status", "zzz"], ["log", "zzz"], ["open", f"{url}/submissions/zzz"]):
        assert line_of(run(*words), 2) == (
            "tilelab: you have no submission with this ID. `tilelab status` lists your submissions.\n"
        )
    assert "gpu/none" in line_of(run("open", "gpu/none", "--print"), 2)


def test_several_open_assignments_are_told_apart_as_the_command_takes_them(hostile: Hostile, tmp_path: Path) -> None:
    (tmp_path / "my.cu").write_text("// a kernel\n")
    there = [ASSIGNMENT, ASSIGNMENT | {"id": "gpu/again"}]
    says(hostile, "/api/v1/assignments", {"assignments": there})
    both = "COURSE/ASSIGNMENT: gpu/tiled, gpu/again.\n"
    asked = line_of(run("submit", str(tmp_path / "my.cu")), 2)
    assert asked.endswith(f" --assignment {both}")
    assert line_of(run("leaderboard"), 2) == asked.replace("--assignment ", "")
    hostile.says({"title": "None", "detail": "None in your courses."}, 404, PROBLEM)
    refused = line_of(run("submit", str(tmp_path / "my.cu"), "-a", "gpu/none"), 2)
    assert refused == "tilelab: None in your courses.\n"


def test_an_empty_board_of_another_class_names_the_assignments_own(hostile: Hostile) -> None:
    says(hostile, "/api/v1/assignments", {"assignments": [ASSIGNMENT | {"device_class": "h200"}]})
    board = {"assignment": "gpu/tiled", "metric": "gflops"}
    for kind in ("h200", "nonsense"):
        says(hostile, f"/api/v1/leaderboards/gpu/tiled/{kind}", board | {"device_class": kind})
    empty = "no results yet.\n"
    assert run("leaderboard", "gpu/tiled", "--class", "h200").stdout == f"gpu/tiled on h200: {empty}"
    assert run("leaderboard", "gpu/tiled", "--class", "nonsense").stdout == (
        f"gpu/tiled on nonsense: {empty}This assignment is ranked on h200.\n"
    )


def test_no_token_is_asked_for_where_no_portal_is(hostile: Hostile) -> None:
    hostile.says(b"<html>", 200, "text/html")
    assert "not JSON" in line_of(run("login", hostile.portal.url), 3)
    assert "http://127.0.0.1:1" in line_of(run("login", "http://127.0.0.1:1"), 3)
    hostile.says({"openapi": "3.1.0"})
    assert "Use --token-stdin" in line_of(run("login", hostile.portal.url), 2)


def test_signing_in_and_out_and_opening_are_told_to_programs(
    hostile: Hostile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, url = tmp_path / "config.toml", hostile.portal.url
    monkeypatch.setenv("TILELAB_CONFIG", str(file))
    who = {"name": "Ada", "email": "ada@example.edu"}
    says(hostile, "/api/v1/me", who | {"token": {"name": "laptop", "expires_at": None}})
    signed_in = CliRunner().invoke(tilelab, ["login", url, "--token-stdin", "--json"], input="tl_x")
    assert json.loads(signed_in.stdout) == who | {"url": url, "expires_at": None, "file": str(file)}
    assert json.loads(run("open", "--print", "--json").stdout) == {"url": f"{url}/"}
    assert json.loads(run("logout", "--json").stdout) == {"removed": True, "url": url}
    assert json.loads(run("logout", "--json").stdout) == {"removed": False, "url": None}


@pytest.mark.parametrize(
    "name", ["x\x1b[2J/tiled", "../tiled", "gpu/tiled/../../x", "gpu/\u202etiled", "tiled", "GPU/x"]
)
def test_names_that_no_assignment_has_are_not_believed(hostile: Hostile, name: str) -> None:
    says(hostile, "/api/v1/assignments", {"assignments": [ASSIGNMENT | {"id": name}]})
    for words in (["open", "tiled", "--print"], ["open", name, "--print"], ["leaderboard"]):
        assert "invalid assignment name" in line_of(run(*words), 3)


def test_what_was_stopped_has_no_report(hostile: Hostile) -> None:
    hostile.says({**FOUND, "state": "cancelled", "verdict": None})
    assert "was cancelled, so it has no report" in line_of(run("log", "a1"), 2)
    hostile.says({**FOUND, "state": "running", "verdict": None})
    assert "--watch`" in line_of(run("log", "a1"), 2)
    hostile.says({**FOUND, "result": {"message": "So it is."}})
    assert json.loads(run("log", "a1", "--json").stdout)["result"] == {"message": "So it is."}


def test_a_log_names_its_submission(hostile: Hostile) -> None:
    report = Report(Verdict.ACCEPTED, "Correct.", "tiled", "cpu", "sm_90", 16)
    hostile.by_path["/api/v1/submissions/a1"] = (
        200, "application/json", json.dumps({**FOUND, "result": to_json(report)}).encode(), {},
    )  # fmt: skip
    hostile.by_path["/api/v1/submissions/a1/source"] = (200, "text/plain", b"// a kernel\n", {})
    assert run("log", "a1").stdout.splitlines()[0] == "a1  gpu/tiled, submission"


def test_a_list_has_words_for_modes_and_the_zone_of_its_times(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    listed = {**FOUND, "created_at": "2026-03-01T12:00:00+00:00"}
    says(hostile, MINE, {"submissions": [listed, {**listed, "mode": "check"}]})
    try:
        _, submitted, checked = run("status").stdout.splitlines()
    finally:
        monkeypatch.undo()
        time.tzset()
    assert submitted.split() == ["a1", "gpu/tiled", "submission", "2026-03-01", "13:00", "CET", "accepted"]
    assert checked.split()[2] == "check"


def test_stopping_says_what_became_of_it_and_what_it_cost(hostile: Hostile) -> None:
    hostile.says({**FOUND, "state": "cancelled", "verdict": None})
    page = f"{hostile.portal.url}/submissions/a1"
    assert run("cancel", page).stdout == "Cancelled a1. It did not use an attempt.\n"
    assert hostile.asked == ["/api/v1/submissions/a1/cancel"]
    assert json.loads(run("cancel", "a1", "--json").stdout)["state"] == "cancelled"
    begun = [{"name": "check", "state": "cancelled", "attempt": 1}]
    hostile.says({**FOUND, "mode": "check", "state": "cancelled", "verdict": None, "steps": begun})
    said = "Cancelled a1. If a worker had started it, it used one of this hour's checks: "
    assert run("cancel", "a1").stdout == f"{said}{page}\n"
    assert "Cancelled" in run("status", "a1").stdout
    listed = {**FOUND, "state": "cancelled", "verdict": None, "created_at": "2026-03-01T12:00:00+00:00"}
    says(hostile, MINE, {"submissions": [listed]})
    assert run("status").stdout.splitlines()[1].endswith("cancelled")
    hostile.says({"detail": "Job 1 is done."}, 409, PROBLEM)
    assert "Job 1 is done" in line_of(run("cancel", "a1"), 2)
    assert "'../me'" in line_of(run("cancel", "../me"), 2)
    hostile.says({"title": "None here", "detail": "Somebody's."}, 404, PROBLEM)
    assert line_of(run("cancel", "a1"), 2) == "tilelab: None here. Somebody's.\n"


def test_a_list_that_is_watched_outlasts_a_hiccup(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    away: Answer = (503, PROBLEM, b"{}", {})
    shown: Answer = (200, "application/json", b'{"submissions": []}', {})
    hostile.by_path[MINE] = shown
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        """Away after the first look, and back after the second; ends the watching then."""
        pauses.append(seconds)
        hostile.by_path[MINE] = away if len(pauses) < 3 else shown
        if len(pauses) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", sleep)
    result = run("status", "--watch", "--json")
    assert result.exit_code == 130
    assert result.stdout.count('{"submissions": []}') == 3
    assert result.stderr.count("Trying again in") == 2


def test_the_end_of_waiting_outlasts_a_hiccup(hostile: Hostile, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has come; what is printed of it for programs is asked for once more."""
    says(hostile, "/api/v1/submissions/a1", FOUND)
    ask, asked = hostile.portal.connection.__class__.get, []

    def get(connection: Any, path: str) -> Any:
        asked.append(path)
        hostile.by_path[path] = (503, PROBLEM, b"{}", {}) if len(asked) == 2 else hostile.by_path[path]
        try:
            return ask(connection, path)
        finally:
            says(hostile, path, FOUND)

    monkeypatch.setattr("worker.client.http.Connection.get", get)
    hostile.says({}, 404, PROBLEM)
    result = run("status", "a1", "--watch", "--json")
    assert (result.exit_code, len(asked)) == (0, 3), result.output
    assert json.loads(result.stdout) == FOUND
