from __future__ import annotations

import errno
import json
import os
import re
import signal
import sys
import threading
import time

import pytest

from tests.marks import linux
from tests.worker.fleet.watched import Watched, gone, wait_until
from worker.supervision.output import code_text
from worker.supervision.parts import Event, Failure, Part, What
from worker.supervision.process import TELL
from worker.supervision.supervisor import Supervisor

STAYS = "import time; print('here', flush=True); time.sleep(1000)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); " + STAYS
PARENT = "import subprocess; p = subprocess.Popen(['sleep', '1000']); print('child', p.pid, flush=True); p.wait()"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def supervising(*parts: dict[str, object]) -> Watched:
    return Watched([sys.executable, "-m", "tests.worker.fleet.supervising", json.dumps(parts)])


def pid(line: str) -> int:
    found = re.search(r"process (\d+)", line)
    assert found
    return int(found[1])


def test_a_part_that_dies_starts_again_and_its_lines_bear_its_name():
    with supervising({"name": "one", "command": python(STAYS)}) as watched:
        first = pid(watched.wait_for("one started"))
        watched.wait_for("one | here")
        os.kill(first, signal.SIGKILL)
        assert "SIGKILL: here" in watched.wait_for("one died")
        assert pid(watched.wait_for("one started", 2)) != first
        watched.wait_for("one | here", 2)
        watched.process.terminate()
        assert watched.ends() == 0
        assert watched.lines[-3:] == ["tilelab: stopping", "tilelab: one ended", "tilelab: over: None"]


BEATS = (
    "import sys, time; from worker.supervision.heartbeat import Heartbeat\n"
    "beat = Heartbeat(None, tell=int(sys.argv[1]))\n"
    "while True: beat.beat(); time.sleep(0.1)"
)


def test_a_part_that_stops_beating_is_killed_and_starts_again():
    command = [*python(BEATS), TELL]
    with supervising({"name": "one", "command": command, "silent": 3.0}) as watched:
        first = pid(watched.wait_for("one started"))
        time.sleep(4.0)  # beats meanwhile, so it stays
        assert "died" not in watched.text
        os.kill(first, signal.SIGSTOP)
        assert "it hung" in watched.wait_for("one died")
        assert pid(watched.wait_for("one started", 2)) != first
        assert gone(first)
        assert "told" not in watched.text


def test_the_pauses_grow_while_a_part_keeps_dying():
    with supervising({"name": "one", "command": python("raise SystemExit('no')")}) as watched:
        for times, pause in enumerate(("0.2 s", "0.4 s", "0.8 s"), 1):
            assert watched.wait_for("one died (exit code 1: no)", times).endswith(f" {pause}")


def test_a_program_that_is_not_there_is_told_and_tried_again():
    with supervising({"name": "one", "command": ["no-such-program"]}) as watched:
        assert os.strerror(errno.ENOENT) in watched.wait_for("no-such-program: ")
        watched.wait_for("one started", 2)


def test_a_folder_that_is_not_there_is_told_and_tried_again(tmp_path):
    table: dict[str, object] = {"name": "one", "command": ["true"], "folder": str(tmp_path / "none")}
    with supervising(table) as watched:
        watched.wait_for(f"one died ({code_text(None)}", 2)


@linux
def test_no_part_outlives_a_supervisor_that_is_killed():
    with supervising(
        {"name": "one", "command": python(STAYS)}, {"name": "two", "command": python(STUBBORN)}
    ) as watched:
        pids = [pid(watched.wait_for(f"{name} started")) for name in ("one", "two")]
        watched.wait_for("one | here")
        watched.wait_for("two | here")
        watched.process.kill()
        wait_until(lambda: gone(*pids))


def test_what_a_part_started_ends_with_it():
    with supervising({"name": "one", "command": python(PARENT)}) as watched:
        child = int(watched.wait_for("one | child").split()[-1])
        os.kill(pid(watched.wait_for("one started")), signal.SIGKILL)
        watched.wait_for("one died")
        wait_until(lambda: gone(child))


def test_parts_start_after_those_they_need_are_ready_and_end_before_them(tmp_path):
    ready = tmp_path / "ready"
    with supervising(
        {"name": "store", "command": python(STAYS), "ready": str(ready)},
        {"name": "web", "command": python(STAYS), "after": ["store"]},
        {"name": "other", "command": python(STAYS)},
    ) as watched:
        watched.wait_for("other | here")
        watched.wait_for("store | here")
        assert "web" not in watched.text
        ready.touch()
        watched.wait_for("web | here")
        assert watched.lines.index("tilelab: store is ready") < watched.lines.index("web | here")
        watched.process.send_signal(signal.SIGINT)
        assert watched.ends() == 0
        assert watched.lines.index("tilelab: web ended") < watched.lines.index("tilelab: store ended")


@pytest.mark.parametrize(
    ("patience", "signals"),
    [(0.5, [signal.SIGTERM]), (1000, [signal.SIGINT, signal.SIGINT])],
    ids=["its time is over", "a second signal"],
)
def test_a_part_that_does_not_end_is_killed(patience, signals):
    with supervising({"name": "one", "command": python(STUBBORN), "stop_seconds": patience}) as watched:
        watched.wait_for("one | here")
        for each in signals:
            watched.process.send_signal(each)
            watched.wait_for("stopping")
        assert watched.ends() == 0
        assert "tilelab: one was killed" in watched.lines


@pytest.mark.long("the short suite has parts that don't end")
def test_parts_that_wait_for_their_next_start_do_not_hold_up_the_end():
    with supervising(
        {"name": "one", "command": ["false"]}, {"name": "two", "command": python(STAYS), "after": ["one"]}
    ) as watched:
        watched.wait_for(" 3.2 s")
        watched.process.terminate()
        assert watched.ends() == 0


def test_a_critical_exit_code_at_the_start_ends_everything_with_the_parts_last_line():
    with supervising(
        {"name": "one", "command": python(STAYS)},
        {"name": "two", "command": python("print('bad address'); raise SystemExit(3)"), "critical": [3]},
    ) as watched:
        assert watched.ends() == 0
        assert "tilelab: one ended" in watched.lines
        assert watched.lines[-1] == "tilelab: over: Failure(part='two', code=3, last='bad address')"


def test_a_critical_exit_code_of_a_part_that_was_ready_is_none(tmp_path):
    ready, seen = tmp_path / "ready", tmp_path / "seen"
    code = f"""
import pathlib, sys, time
pathlib.Path({str(ready)!r}).touch()
while not pathlib.Path({str(seen)!r}).exists():
    time.sleep(0.01)
sys.exit(3)
"""
    table: dict[str, object] = {"name": "one", "command": python(code), "critical": [3], "ready": str(ready)}
    with supervising(table) as watched:
        watched.wait_for("one is ready")
        seen.touch()
        assert "exit code 3" in watched.wait_for("one died")
        watched.wait_for("one started", 2)


def test_what_a_part_tells_comes_line_by_line_beside_its_output():
    code = "import os, sys; os.write(int(sys.argv[1]), b'1\\n2\\n'); print('out', flush=True); sys.stdin.read(); 1/0"
    with supervising({"name": "one", "command": [*python(code), "{tell}"]}) as watched:
        watched.wait_for("tilelab: told 1")
        watched.wait_for("tilelab: told 2")
        watched.wait_for("one | out")
        watched.wait_for("ZeroDivisionError: division by zero)")


def test_other_threads_add_parts_let_them_go_and_stop():
    events: list[tuple[str, What]] = []
    begun, gone_one = threading.Event(), threading.Event()

    def happened(event: Event) -> None:
        events.append((event.part, event.what))
        if event.what is What.ENDED:
            gone_one.set()

    supervisor = Supervisor(on_line=lambda _name, _line: begun.set(), on_event=happened)

    def other() -> None:
        supervisor.call(lambda: supervisor.add(Part("one", tuple(python(STAYS)))))
        assert begun.wait(60)
        supervisor.call(lambda: supervisor.let_go("one"))
        assert gone_one.wait(60)
        supervisor.stop()

    thread = threading.Thread(target=other)
    thread.start()
    assert supervisor.run() is None
    thread.join()
    supervisor.stop()
    assert events == [("one", What.STARTED), ("one", What.ENDED)]


def test_an_exception_of_a_callback_leaves_no_process():
    started: list[int] = []

    def told(_name: str, _line: str) -> None:
        started.extend(supervisor.pids().values())
        raise RuntimeError("unforeseen")

    supervisor = Supervisor(on_line=told)
    supervisor.add(Part("one", tuple(python(STAYS))))
    with pytest.raises(RuntimeError, match="unforeseen"):
        supervisor.run()
    assert started
    assert gone(*started)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_part_has_to_come_after_one_that_is_there():
    supervisor = Supervisor()
    with pytest.raises(ValueError, match="comes after two, which doesn't exist"):
        supervisor.add(Part("one", ("true",), after=("two",)))
    supervisor.add(Part("one", ("true",)))
    with pytest.raises(ValueError, match="part one already exists"):
        supervisor.add(Part("one", ("true",)))


def test_a_failure_says_which_part_and_why():
    supervisor = Supervisor()
    supervisor.add(Part("one", tuple(python("raise SystemExit(2)")), critical=frozenset({2})))
    assert supervisor.run() == Failure("one", 2, "")
