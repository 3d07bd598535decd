"""The commands for an experiment on a server, as processes, on a real portal."""

from __future__ import annotations

import json

import pytest

from server.courses.models import Role
from tests.server.course import NOW
from tests.server.experiments.started import KERNEL, TILE, run_all, runner_of
from tests.server.programs.serving import Server, Student


@pytest.fixture
def file(tmp_path):
    (tmp_path / "tiled.cu").write_text(KERNEL)
    made = tmp_path / "tile.toml"
    made.write_text(TILE)
    return made


def test_an_experiment_is_submitted_awaited_fetched_and_exported(server: Server, student: Student, file, tmp_path):
    server.course.person("ina", Role.INSTRUCTOR)
    student.config.parent.mkdir(parents=True, exist_ok=True)
    done = student.tilelab("login", server.url, "--token-stdin", given=f"{server.token('ina')}\n")
    assert done.code == 0
    done = student.tilelab("experiment", "submit", str(file), "--device-class", "cpu", "--json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert (made["points"], made["state"]) == (4, "running")
    assert "0 of 4 points" in student.tilelab("experiment", "status", made["id"]).out
    assert f"{made['id']}  running" in student.tilelab("experiment", "list").out
    run_all(server.course, runner_of(server.course))
    waited = student.tilelab("experiment", "status", f"{server.url}/experiments/{made['id']}", "--wait", "--json")
    assert json.loads(waited.out)["experiment"]["state"] == "done"
    out = tmp_path / "fetched"
    for _ in range(2):
        done = student.tilelab("experiment", "fetch", made["id"], "--out", str(out))
        assert (done.code, "4 of 4 points" in done.out) == (0, True), done.err
    table = student.tilelab("experiment", "export", str(out)).out
    assert len(table.splitlines()) == 5
    assert (out / "report.html").exists()
    for verb in ("cancel", "retry"):
        assert student.tilelab("experiment", verb, made["id"]).code == 2


@pytest.mark.long("the short suite has the parts of it in tests/worker")
def test_a_submission_is_run_on_this_machine_by_its_owner_alone(server: Server, student: Student, tmp_path):
    mine = server.course.hand_in("ada", KERNEL.encode()).submission.public_id
    theirs = server.course.hand_in("bob", KERNEL.encode()).submission.public_id
    file = tmp_path / "mine.toml"
    text = TILE.replace("[4, 8, 16, 32]", "[8]\nWidth = [16]")
    file.write_text(text.replace('"tiled.cu"', f'{{ submission = "{mine}" }}'))
    run = ("experiment", "run", str(file), "--device", "cpu", "--out", str(tmp_path / "out"), "--json")
    done = student.tilelab(*run)
    assert (done.code, "tilelab login" in done.err) == (2, True), done.err
    student.tilelab("login", server.url, "--token-stdin", given=f"{server.token('ada')}\n")
    done = student.tilelab(*run)
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [each["text"] for each in found["manifest"]["kernels"]] == [KERNEL]
    assert [each["verdict"] for each in found["points"]] == ["accepted"]
    file.write_text(text.replace('"tiled.cu"', f'{{ submission = "{theirs}" }}'))
    assert student.tilelab(*run).code == 2
    file.write_text(text.replace('"tiled.cu"', '{ best = "gpu/tiled" }'))
    refused = student.tilelab(*run)
    assert (refused.code, "no accepted submission of yours" in refused.err) == (2, True), refused.err


WRONG = (
    (("submit", "none.toml"), "can't be read"),
    (("submit", "{file}", "--exercise", "tiled"), "Leave out --exercise"),
    (("submit", "ladder", "-a", "TILE_WIDTH=7"), "can't be 7"),
    (("submit", "{file}", "-a", "TILE_WIDTH=7"), "can't be 7"),
    (("submit", "{wrong}"), ":6: "),
    (("status", "no/such"), "is not the ID"),
    (("status", "0123456789abcdef"), "There is no such experiment"),
)


def test_wrong_use_is_one_line_and_starts_nothing(server: Server, student: Student, file):
    (file.parent / "wrong.toml").write_text(TILE.replace("[axes]", "[axis]"))
    student.tilelab("login", server.url, "--token-stdin", given=f"{server.token('ada')}\n")
    for arguments, said in WRONG:
        given = [each.format(file=file, wrong=file.parent / "wrong.toml") for each in arguments]
        done = student.tilelab("experiment", *given)
        assert (done.code, said in done.err) == (2, True), (arguments, done.err)
        assert not runner_of(server.course).step(NOW)
