"""The demo's submission: handed in as any program would, and followed until its verdict."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernels.exercise import BUILT_IN
from kernels.rendering.text_safety import safe
from server.up.asking import Answer, NoAnswer, ask
from server.up.demo_file import DemoUser

_LOOK_SECONDS = 0.5
_FILE = BUILT_IN / "tiled" / "solution.cu"


@dataclass(frozen=True, slots=True)
class DemoSubmission:
    """Hands in, and tells what becomes of it.

    say: takes a line
    pause: waits some seconds; False where everything ends meanwhile
    """

    url: str
    user: DemoUser
    assignment: str
    say: Callable[[str], None]
    pause: Callable[[float], bool]

    def run(self) -> None:
        """Until there is a verdict, or everything ends. The same submission at every start, by its key."""
        source = _FILE.read_text("utf-8")
        key = f"demo-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        asked = {"assignment": self.assignment, "source": source}
        accepted = self._until_answered("POST", "/api/v1/submissions", {"Idempotency-Key": key}, asked)
        if accepted is None:
            return
        if accepted.status != 202:
            self.say(
                f"  the portal did not take it: {safe(str(accepted.body.get('detail', accepted.status)))}"
            )
            return
        place = str(accepted.body["url"])
        self.say(f"  {self.user.email} handed in {_FILE.parent.name}/{_FILE.name} for {self.assignment}")
        self._follow(place)

    def _follow(self, place: str) -> None:
        told = ""
        while found := self._until_answered("GET", place):
            if found.status != 200:
                self.say(f"  it cannot be read: {safe(str(found.body.get('detail', found.status)))}")
                return
            news = self._news(found.body, place)
            if news != told:
                self.say(f"  {news}")
                told = news
            if found.body.get("state") in {"done", "cancelled"} or not self.pause(_LOOK_SECONDS):
                return

    def _until_answered(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: object = None
    ) -> Answer | None:
        """The answer, however often the portal has to be asked; None where everything ends before."""
        sent = {"Authorization": f"Bearer {self.user.token}", **(headers or {})}
        while True:
            try:
                answer = ask(self.url, method, path, headers=sent, body=body)
            except NoAnswer:
                answer = None
            if answer is not None and answer.status < 500:
                return answer
            if not self.pause(_LOOK_SECONDS):
                return None

    def _news(self, found: Mapping[str, Any], place: str) -> str:
        state, position = found.get("state"), found.get("position")
        if state == "done":
            return _verdict(found, f"{self.url}/submissions/{place.rpartition('/')[2]}")
        if state == "running":
            at = [step["name"] for step in found.get("steps", []) if step["state"] == "running"]
            return f"at work: {', '.join(at)}" if at else "at work: between two steps"
        return f"{state}: number {position} in the queue" if position else str(state)


def _verdict(found: Mapping[str, Any], where: str) -> str:
    result = found.get("result") or {}
    checks = [check.get("status") for check in result.get("checks", [])]
    ran = [status for status in checks if status != "not_run"]
    cases = f", {ran.count('passed')} of {len(ran)} cases passed" if ran else ""
    measured = result.get("measurement") or {}
    speed = f", {measured['gflops']:,.0f} GFLOPS" if isinstance(measured.get("gflops"), float) else ""
    return f"graded: {found.get('verdict')}{cases}{speed}\n  {where}"
