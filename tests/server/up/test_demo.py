"""`tilelab up --demo` with real processes: it grades, comes back part by part, ends at once, and goes on later.

One long scenario on one folder: each start takes many seconds on two cores.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from server.up.watch import NoAnswer, ask
from tests.marks import linux
from tests.server.database.version_0030.kept import make_folder

PATIENCE = 240.0
PARTS = ("redis", "web", "dispatcher", "recorder", "worker")
WRONG = (Path(__file__).resolve().parents[3] / "samples" / "missing_barrier.cu").read_text()

pytestmark = [
    pytest.mark.long("takes minutes; the short suite starts the same for tests/browser/test_course.py"),
    linux,
    pytest.mark.timeout(900),
]


def until(holds: Callable[[], Any], what: str) -> Any:
    """What it gives as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := holds():
            return found
        time.sleep(0.2)
    raise AssertionError(f"never: {what}")


@dataclass
class Up:
    """A running `tilelab up --demo`, with all that it printed."""

    data: Path
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def demo(self) -> Any:
        return json.loads((self.data / "demo.json").read_text())

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        demo = self.demo()
        student = next(user for user in demo["users"] if user["role"] == "student")
        sent = {"Authorization": f"Bearer {student['token']}", **headers}
        try:
            return ask(demo["url"], method, path, headers=sent, body=body, seconds=60)
        except NoAnswer:
            return None

    def hand_in(self, source: str) -> str:
        answer = self.ask("POST", "/api/v1/submissions", {"assignment": "demo/tiled", "source": source})
        assert answer.status == 202
        return str(answer.body["url"])

    def verdict(self, place: str) -> str:
        def done() -> Any:
            found = self.ask("GET", place)
            return found is not None and found.status == 200 and found.body["verdict"]

        return str(until(done, f"a verdict for {place}:\n{self.all()}"))

    def says(self, text: str) -> str:
        return str(until(lambda: next((line for line in self.lines if text in line), ""), f"{text}:\n{self.all()}"))

    def all(self) -> str:
        return "\n".join(self.lines)

    def pid(self, part: str) -> int:
        """Of the part that runs now, from the log."""
        log = (self.data / "tilelab.log").read_text()
        started = [line for line in log.splitlines() if f" {part}: started (process " in line]
        return int(started[-1].rpartition(" ")[2].rstrip(")"))

    def replaced(self, part: str, before: int) -> bool:
        return self.pid(part) != before

    def descendants(self) -> set[int]:
        parents = {}
        for stat_file in Path("/proc").glob("[0-9]*/stat"):
            try:
                words = stat_file.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(stat_file.parent.name)] = int(words[1])
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def up(data: Path) -> Iterator[Up]:
    clean = {name: value for name, value in os.environ.items() if name not in {"DATABASE_URL", "REDIS_URL"}}
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "worker.commands", "up", "--demo", "--port", "0", "--data", str(data)],
        env=clean, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    running = Up(data, process)
    assert process.stdout is not None
    reader = Thread(target=lambda: running.lines.extend(map(str.rstrip, process.stdout or ())), daemon=True)
    reader.start()
    try:
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        reader.join(10)
        process.stdout.close()


def stop(running: Up) -> None:
    """Ctrl-C once: all ends, and nothing is left."""
    everyone = running.descendants()
    assert len(everyone) > len(PARTS)
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(60) == 0, running.all()
    left = {pid for pid in everyone if alive(pid)}
    assert not left, running.all()


def test_everything_runs_comes_back_and_goes_on(tmp_path: Path):
    data = tmp_path / ("long" * 25) / "data"  # too long for a socket in it

    with up(data) as first:
        first.says("graded: accepted")
        demo = first.demo()
        assert list(demo) == ["url", "users"]
        assert [list(user) for user in demo["users"]] == [["email", "password", "token", "role"]] * 3
        assert [user["role"] for user in demo["users"]] == ["instructor", "student", "student"]
        assert stat.S_IMODE((data / "demo.json").stat().st_mode) == 0o600
        assert first.says("ready: http").endswith(demo["url"])
        place = f"/api/v1/submissions/{first.says('/submissions/').strip().rpartition('/')[2]}"
        found = first.ask("GET", place).body
        assert (found["state"], found["verdict"]) == ("done", "accepted")
        assert [step["state"] for step in found["steps"][:2]] == ["done", "done"]
        assert found["steps"][0]["seconds"] > 0

        for part in PARTS:
            before = first.pid(part)
            os.kill(before, signal.SIGKILL)
            until(partial(first.replaced, part, before), f"{part} again")
        wrong = first.hand_in(WRONG)
        assert first.verdict(wrong) == "data_race"
        assert sum("SIGKILL" in line for line in first.lines) >= len(PARTS)
        late = first.hand_in(WRONG + "// handed in just before the end\n")
        stop(first)

    with up(data) as second:
        second.says("graded: accepted")
        again = second.demo()
        assert again["users"] == demo["users"]
        assert second.ask("GET", place).body == found
        assert second.ask("GET", wrong).body["verdict"] == "data_race"
        assert second.verdict(late) == "data_race"
        everyone = second.descendants()
        second.process.kill()
        second.process.wait()
        until(lambda: not any(map(alive, everyone)), "the end of all parts after their supervisor's")


def test_a_folder_of_an_older_version_goes_on(tmp_path: Path):
    make_folder(tmp_path)
    users = json.loads((tmp_path / "demo.json").read_text())["users"]
    with up(tmp_path) as running:
        running.says("graded: accepted")
        assert running.demo()["users"] == users
        own = running.ask("GET", "/api/v1/submissions").body["submissions"]
        assert [line["verdict"] for line in own] == ["accepted", "data_race", "accepted"]
        assert running.verdict(running.hand_in(WRONG)) == "data_race"
        stop(running)
