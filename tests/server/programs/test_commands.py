"""The commands that talk to a portal, as processes, on a real server."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import pytest
from sqlalchemy import func, select

from kernels.verdict import Finding, Verdict
from server.accounts import browser_sessions
from server.accounts.cookies import csrf_token
from server.accounts.models import ApiToken, Person
from server.accounts.service import disable, revoke_tokens
from server.courses.models import Membership
from server.dispatching.dispatch import take
from server.recording.record import record
from server.standings.service import set_listed
from server.submissions.models import Submission
from tests.server.course import check_result, later
from tests.server.programs.serving import COMMAND, Server, Student
from tests.server.submissions.test_api import grade
from worker.contract.messages import CPU_QUEUE

_LONG = pytest.mark.long("the short suite has one of each command")

WAITS = 60.0


def until(what: Callable[[], Any]) -> Any:
    """What comes of it once it is something."""
    deadline = time.monotonic() + WAITS
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def handed_in(server: Server) -> int:
    with server.course.sessions.begin() as session:
        return session.scalar(select(func.count()).select_from(Submission)) or 0


def test_login_keeps_a_token_that_works_for_its_owner_alone(server: Server, student: Student):
    token = server.token("ada")
    done = student.tilelab("login", server.url, "--token-stdin", given=f"{token}\n")
    assert (done.code, done.err) == (0, "")
    assert f"Signed in to {server.url} as ada (ada@example.edu)." in done.out
    assert student.config.stat().st_mode & 0o777 == 0o600
    assert token not in done.out
    assert student.tilelab("status").out == "No submissions yet. Submit with `tilelab submit FILE`.\n"
    assert "still works. Revoke it at" in student.tilelab("logout").out
    assert not student.config.exists()
    assert "you are not signed in. Run `tilelab login URL`" in student.tilelab("status").line
    assert student.tilelab("logout").out == "You were not signed in.\n"


@_LONG
def test_login_with_a_wrong_token_keeps_nothing(server: Server, student: Student):
    done = student.tilelab("login", server.url, "--token-stdin", given="tl_wrong")
    assert done.code == 2
    assert "refused your token" in done.line
    assert not student.config.exists()
    for given in ("", "two words", "\x1b[31m"):
        assert "has no valid token" in student.tilelab("login", server.url, "--token-stdin", given=given).line
    assert "--token-stdin" in student.tilelab("login", server.url).line
    assert "no portal yet" in student.tilelab("login", "--token-stdin", given="tl_x").line


@_LONG
def test_login_shows_a_code_at_a_terminal_and_waits_for_a_browser(server: Server, student: Student):
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "login", server.url], stdin=terminal, stdout=terminal, stderr=terminal,
        env={**student.environment, "TERM": "xterm"}, start_new_session=True,
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while not (code := re.search(rb"/login .* code ([A-Z]{4}-[A-Z]{4})\r\n", shown)):
        shown += os.read(screen, 4096)
    ada = server.course.person("ada")
    with server.course.sessions.begin() as session:
        cookie = browser_sessions.begin(session, session.get_one(Person, ada), "test")
    form = {"csrf": csrf_token(cookie), "code": code[1].decode(), "access": "submit", "answer": "allow"}
    sent = Request(f"{server.url}/login", urlencode(form).encode(), {"Cookie": f"tilelab={cookie}"})
    with urlopen(sent, timeout=WAITS) as page:
        assert page.status == 200
    shown += rest_of(screen)
    assert process.wait(WAITS) == 0, shown
    assert student.tilelab("status").code == 0
    (kept,) = server.course.rows(select(ApiToken))
    assert (kept.person_id, kept.scopes) == (ada, "read submit")


def rest_of(screen: int) -> bytes:
    """What is written to a terminal until nobody writes any more."""
    shown = b""
    with suppress(OSError):
        while more := os.read(screen, 4096):
            shown += more
    os.close(screen)
    return shown


def test_submitting_from_the_command_line_says_where_it_is(server: Server, ada: Student, kernel: str):
    done = ada.tilelab("submit", kernel)
    assert (done.code, done.err) == (0, "")
    assert f"Submitted to gpu/tiled, number 1 in the queue: {server.url}/submissions/" in done.out
    told = json.loads(ada.tilelab("submit", kernel, "--check", "--json", "-a", "tiled").out)
    assert told["page"] == f"{server.url}/submissions/{told['id']}"
    listed = ada.tilelab("status").out
    assert [line.split()[2] for line in listed.splitlines()[1:]] == ["check", "submission"]
    assert len(json.loads(ada.tilelab("status", "--json", "--limit", "1").out)["submissions"]) == 1
    one = ada.tilelab("status", told["page"])
    assert "gpu/tiled, check" in one.out
    assert "Waiting in the queue, number" in one.out
    assert "is not graded yet" in ada.tilelab("log").line
    assert ada.tilelab("open", told["id"], "--print").out.strip() == told["page"]
    assert ada.tilelab("open", "gpu/tiled", "--print").out == f"{server.url}/courses/gpu/tiled/\n"
    assert ada.tilelab("open", "--print").out == f"{server.url}/\n"
    for name in ("../me", "abc"):
        refused = ada.tilelab("status", name)
        assert (refused.code, "`tilelab status`" in refused.line) == (2, True)


def test_waiting_shows_each_phase_and_ends_with_the_report(server: Server, ada: Student, kernel: str):
    process = ada.begin("submit", kernel, "--wait")
    said = waiting(process)
    grade(server.course)
    out, err = process.communicate(timeout=WAITS)
    assert process.returncode == 0, err
    assert out.startswith("my.cu: accepted\n")
    assert "5,000 GFLOPS" in out
    assert f"gpu/tiled: {server.url}/submissions/" in said[0]
    assert err.splitlines()[-1] == "tilelab: graded"


def test_what_is_not_accepted_ends_with_1_and_its_line(server: Server, ada: Student, kernel: str):
    process = ada.begin("submit", kernel, "--wait", "--check", "--json")
    until(lambda: handed_in(server))
    finding = Finding(Verdict.DATA_RACE, "two \x1b[31mthreads\nmeet", line=1, other_line=1, count=3)
    said: dict[str, Any] = {"findings": (finding,), "printed": "one\n\x1b]0;title\x07\n", "printed_case": "Width=1"}
    check(server, Verdict.DATA_RACE, **said)
    out, _ = process.communicate(timeout=WAITS)
    assert process.returncode == 1
    found = json.loads(out)
    assert (found["verdict"], found["result"]["seed"]) == ("data_race", "")
    log = ada.tilelab("log")
    assert log.code == 0
    assert "two \\x1b[31mthreads\\x0ameet" in log.out
    assert "__global__ void MatrixMulKernel" in log.out
    assert "\\x1b]0;title\\x07" in log.out
    assert "\x1b" not in log.out + ada.tilelab("status", found["id"]).out


def waiting(process: subprocess.Popen[str]) -> list[str]:
    """What it says until it waits for its turn."""
    assert process.stderr is not None
    said = [""]
    while "waiting" not in said[-1]:
        assert process.poll() is None, said
        said.append(process.stderr.readline())
    return said[1:]


def check(server: Server, verdict: Verdict, *, when: float = 0, **said: Any) -> None:
    """Do what a worker and the recorder do with the one submission that waits to be checked."""
    with server.course.sessions.begin() as session:
        (job,) = [step.job_id for step in take(session, CPU_QUEUE, slots=9, cap=9, now=later(when + 1))]
    with server.course.sessions.begin() as session:
        result = check_result(session, job, verdict)
    assert result.report is not None
    record(server.course.sessions, replace(result, report=replace(result.report, **said)), later(when + 2))


@_LONG
def test_a_fault_of_ours_ends_with_3(server: Server, ada: Student, kernel: str):
    process = ada.begin("submit", kernel, "--wait", "--check")
    until(lambda: handed_in(server))
    for attempt in range(3):
        check(server, Verdict.SYSTEM_ERROR, when=1e6 * attempt)
    process.communicate(timeout=WAITS)
    assert process.returncode == 3


@_LONG
def test_ctrl_c_ends_the_waiting_and_says_how_to_come_back(server: Server, ada: Student, kernel: str):
    process = ada.begin("submit", kernel, "--wait")
    waiting(process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=WAITS)
    assert process.returncode == 130
    assert "grading continues. Follow it with `tilelab status " in err
    public_id = err.partition("tilelab status ")[2].partition(" ")[0]
    watching = ada.begin("status", public_id, "--watch")
    grade(server.course)
    out, _ = watching.communicate(timeout=WAITS)
    assert watching.returncode == 0
    assert "accepted" in out


@_LONG
def test_waiting_goes_on_through_a_restarted_server(server: Server, ada: Student, kernel: str):
    process = ada.begin("submit", kernel, "--wait")
    waiting(process)
    server.stop(signal.SIGKILL)
    assert process.stderr is not None
    assert "Trying again; grading continues" in process.stderr.readline()
    grade(server.course)
    server.start()
    out, _ = process.communicate(timeout=WAITS)
    assert process.returncode == 0
    assert out.startswith("my.cu: accepted\n")


@_LONG
def test_a_submission_whose_answer_was_lost_is_one_submission(server: Server, ada: Student, kernel: str):
    lossy = Lossy(server.url)
    threading.Thread(target=lossy.serve_forever, daemon=True).start()
    try:
        ada.told = {"TILELAB_URL": f"http://127.0.0.1:{lossy.server_port}", "TILELAB_TOKEN": server.token("ada")}
        done = ada.tilelab("submit", kernel, "-a", "gpu/tiled")
    finally:
        lossy.shutdown()
        lossy.server_close()
    assert done.code == 0, done.err
    assert "Trying again in" in done.line
    assert lossy.lost == 1
    assert handed_in(server) == 1


class Lossy(ThreadingHTTPServer):
    """Hands on what it is asked, and loses the first answer to what changes something."""

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), _Relay)
        self.url = url
        self.lost = 0


class _Relay(BaseHTTPRequestHandler):
    server: Lossy

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        names = ("Authorization", "Content-Type", "Idempotency-Key")
        headers = {name: self.headers[name] for name in names}
        with urlopen(Request(self.server.url + self.path, body, headers)) as answer:
            said = answer.read()
        if not self.server.lost:
            self.server.lost += 1
            self.connection.close()
            return
        self.send_response(202)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *arguments: Any) -> None:
        pass


@_LONG
def test_progress_on_a_terminal_is_one_line_that_moves(server: Server, ada: Student, kernel: str):
    screen, terminal = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "submit", kernel, "--wait"], cwd=ada.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=terminal, env={**ada.environment, "TERM": "xterm"},
    )  # fmt: skip
    os.close(terminal)
    shown = b""
    while b"waiting" not in shown:
        shown += os.read(screen, 4096)
    grade(server.course)
    out, _ = process.communicate(timeout=WAITS)
    os.close(screen)
    assert process.returncode == 0
    assert out.startswith(b"my.cu: accepted\n")
    text = shown.decode()
    assert "\r\033[Ktilelab: [" in text
    assert text.count("\n") == 1, "where it was handed in, and one line that moves"


@_LONG
def test_refusals_are_one_line_that_says_what_to_do(server: Server, ada: Student, kernel: str):
    (ada.home / "large.cu").write_bytes(b"x" * (64 * 1024 + 1))
    (ada.home / "latin.cu").write_bytes(b"// \xe9\n")
    (ada.home / "empty.cu").write_bytes(b"")
    for words, text in (
        (["large.cu"], "The limit is 64 KiB"),
        (["latin.cu"], "not UTF-8 text (byte 3)"),
        (["empty.cu"], "is empty"),
        (["none.cu"], "file not found"),
        ([kernel, "-a", "gpu/none"], "such as demo/tiled"),
        ([kernel, "-a", "none"], "Your assignments: gpu/tiled"),
        ([kernel, "--device-class", "a100"], "No worker measures on 'a100'"),
        ([kernel, "--device-class", "a100", "--check"], "Leave out --device-class"),
    ):
        done = ada.tilelab("submit", *words)
        assert done.code == 2, words
        assert text in done.line
        assert not done.out
    server.course.change(opens_at=later(1e9))
    hidden, absent = (ada.tilelab("submit", kernel, "-a", f"gpu/{name}").line for name in ("tiled", "none"))
    assert hidden == absent
    assert ada.tilelab("submit", kernel).code == 2
    server.course.change(opens_at=None, closes_at=later(1))
    assert "closed at" in ada.tilelab("submit", kernel, "-a", "gpu/tiled").line
    server.course.change(closes_at=None, checks_per_hour=1)
    assert ada.tilelab("submit", kernel, "--check").code == 0
    often = ada.tilelab("submit", kernel, "--check")
    assert often.code == 2
    assert "(Try again in " in often.line
    assert handed_in(server) == 1


def test_who_may_not_come_in_is_told_so(server: Server, ada: Student, kernel: str):
    with server.course.sessions.begin() as session:
        found = session.scalars(select(Membership)).one()
        found.dropped_at = later(0)
    assert ada.tilelab("submit", kernel).line == "tilelab: no assignment is open to you now."
    assert ada.tilelab("submit", kernel, "-a", "gpu/tiled").code == 2
    with server.course.sessions.begin() as session:
        disable(session, session.get_one(Person, server.course.person("ada")))
    unknown = ada.tilelab("status")
    assert (unknown.code, server.url in unknown.line) == (2, True)
    with server.course.sessions.begin() as session:
        revoke_tokens(session, session.get_one(Person, server.course.person("ada")))
    assert ada.tilelab("status").code == 2


def test_the_board_marks_ones_own_line(server: Server, ada: Student, kernel: str):
    assert "no results yet" in ada.tilelab("leaderboard").out
    ada.tilelab("submit", kernel)
    grade(server.course)
    shown = ada.tilelab("leaderboard", "gpu/tiled")
    assert shown.code == 0, shown.err
    assert "GFLOPS" in shown.out
    assert "<- you" in shown.out
    assert json.loads(ada.tilelab("leaderboard", "tiled", "--class", "h200", "--json").out)["lines"]
    (line,) = (line for line in shown.out.splitlines() if "<- you" in line)
    assert "5,000 to 5,000" in line
    assert "10 %" in line
    with server.course.sessions.begin() as session:
        set_listed(session, server.course.person("ada"), listed=False)
    assert re.search(r"^\(1\) .*<- you, not listed", ada.tilelab("leaderboard").out, re.MULTILINE)
    server.course.change(board_columns="time date")
    head = ada.tilelab("leaderboard").out.splitlines()[1]
    assert head.split() == ["rank", "name", "GFLOPS", "95", "%", "interval", "ms", "submitted"]
    server.course.change(device_class="")
    shown = ada.tilelab("leaderboard")
    assert "no accepted kernels yet" in shown.out
    ada.tilelab("submit", kernel)
    grade(server.course, measure=False)
    shown = ada.tilelab("leaderboard")
    assert "accepted since" in shown.out
    assert "<- you" in shown.out
    assert "rank  " not in shown.out
