"""The demo course, created at the first start. Later starts update it to the code and the machine."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from kernels.exercise import BUILT_IN
from kernels.exercise.catalogue import catalogue_entries
from kernels.rendering.text_safety import safe
from kernels.wire import WireError, from_plain
from server.accounts.service import (
    create_person,
    create_token,
    enable,
    find_by_token,
    find_person,
    revoke_tokens,
    set_password,
    sign_in,
)
from server.assignments.exercise_update import update_exercise
from server.courses.models import Course, Role
from server.courses.service import Terms, arch_of, create_assignment, create_course, enrol, find_assignment, find_course
from server.database.engine import Sessions
from server.enrolment.admins import appoint
from server.enrolment.codes import new_code
from server.up.watch import Answer, NoAnswer, ask
from worker.commands.device import choose

_MODE = 0o600


@dataclass(frozen=True, slots=True)
class DemoUser:
    """One account of the demo with its password and token."""

    email: str
    password: str
    token: str
    role: str


@dataclass(frozen=True, slots=True)
class DemoFile:
    """The file's content. url: of the portal."""

    url: str
    users: tuple[DemoUser, ...]


def read_demo(path: Path) -> Sequence[DemoUser]:
    """The accounts in the file; none if it is missing or invalid, so that all are created again."""
    try:
        return from_plain(DemoFile, json.loads(path.read_text("utf-8"))).users
    except (OSError, ValueError, WireError):
        return ()


def write_demo(path: Path, demo: DemoFile) -> None:
    """Write the file atomically, and never readable for others."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _MODE), "w", encoding="utf-8") as file:
        json.dump(asdict(demo), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)


COURSE = "demo"
_TITLE = "Tiled matrix multiplication demo"
_TOKEN_NAME = "demo.json"  # noqa: S105 - what the token is called
_PASSWORD_BYTES = 9
_EXERCISES = ("naive", "tiled", "coarsened")
"""In the order of their deadlines."""
_ALL_FOR_THE_GOAL = {"coarsened"}
"""Exercises whose starter is correct already, so that an accepted kernel that misses the goal earns no points."""
_SUBMITTED = "tiled"
_PEOPLE = (
    ("instructor@demo.example", "Ina Instructor", Role.INSTRUCTOR),
    ("ada@demo.example", "Ada Student", Role.STUDENT),
    ("ben@demo.example", "Ben Student", Role.STUDENT),
)


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo's accounts, its enrolment code, and the assignment of the first submission."""

    users: Sequence[DemoUser]
    code: str = ""
    assignment: str = f"{COURSE}/{_SUBMITTED}"

    @property
    def student(self) -> DemoUser:
        return next(user for user in self.users if user.role == Role.STUDENT)


def prepare_demo(sessions: Sessions, file: Path, url: str) -> Demo:
    """Create what is missing in the database and in the file. The rest stays unchanged."""
    now = datetime.now(UTC)
    known = {user.email: user for user in read_demo(file)}
    device_class, arch = _device()
    with sessions.begin() as session:
        course = find_course(session, COURSE) or create_course(session, COURSE, _TITLE, now)
        course.enrolment_code = course.enrolment_code or new_code()
        code = course.enrolment_code
        for exercise in _EXERCISES:
            _set_exercise(session, course, exercise, device_class, arch, now)
        for exercise in catalogue_entries():
            if exercise not in _EXERCISES:
                _set_practice(session, course, exercise, now)
    users = [_user(sessions, email, name, role, known.get(email), now) for email, name, role in _PEOPLE]
    write_demo(file, DemoFile(url, tuple(users)))
    return Demo(tuple(users), code)


def _device() -> tuple[str, str]:
    """The class and the architecture of this machine's GPU. Without a GPU, the class is ""."""
    gpu = choose("auto")
    return ("", arch_of("")) if gpu is None else (gpu.device_class, gpu.arch)


def _set_exercise(session: Session, course: Course, name: str, device_class: str, arch: str, now: datetime) -> None:
    """Create or update an assignment, because the GPU or the judge may have changed since the last start."""
    assignment = find_assignment(session, f"{course.slug}/{name}")
    if assignment is None:
        due = now + timedelta(days=365, weeks=_EXERCISES.index(name))
        made = create_assignment(session, course, name, Terms(device_class=device_class, arch=arch), now=now)
        made.points, made.due_at = 10.0, due
        if name in _ALL_FOR_THE_GOAL:
            made.goals_percent = 0.0
        return
    assignment.device_class, assignment.arch = device_class, arch
    update_exercise(session, assignment, None, now=now)


def _set_practice(session: Session, course: Course, name: str, now: datetime) -> None:
    found = find_assignment(session, f"{course.slug}/{name}")
    if found is None:
        create_assignment(session, course, name, now=now)
    else:
        update_exercise(session, found, None, now=now)


def _user(sessions: Sessions, email: str, name: str, role: Role, known: DemoUser | None, now: datetime) -> DemoUser:
    """One account with a valid password and token: from the file if they are valid, otherwise new ones."""
    password = known.password if known and sign_in(sessions, email, known.password) else None
    with sessions.begin() as session:
        course = find_course(session, COURSE)
        assert course is not None
        person = find_person(session, email) or create_person(session, email=email, name=name, now=now)
        enable(session, person)
        enrol(session, course, person, role, now)
        if role is Role.INSTRUCTOR:
            appoint(session, person)  # so that people who try Tilelab can see the fleet, too
        if password is None:
            password = secrets.token_urlsafe(_PASSWORD_BYTES)
            set_password(session, person, password)
        owner = find_by_token(session, known.token, now=now) if known else None
        if known is not None and owner is not None and owner.id == person.id:
            return DemoUser(email, password, known.token, role.value)
        revoke_tokens(session, person, _TOKEN_NAME)
        return DemoUser(email, password, create_token(session, person, _TOKEN_NAME, now=now), role.value)


_LOOK_SECONDS = 0.5
_FILE = BUILT_IN / _SUBMITTED / "solution.cu"


@dataclass(frozen=True, slots=True)
class DemoSubmission:
    """Submits a kernel, and shows its progress.

    pause: waits some seconds; returns False if everything ends meanwhile
    """

    url: str
    user: DemoUser
    assignment: str
    say: Callable[[str], None]
    pause: Callable[[float], bool]

    def run(self) -> None:
        """Submit and wait for the verdict or the end. By its key, it is the same submission at every start."""
        source = _FILE.read_text("utf-8")
        key = f"demo-{hashlib.sha256(source.encode()).hexdigest()[:16]}"
        asked = {"assignment": self.assignment, "source": source}
        accepted = self._until_answered("POST", "/api/v1/submissions", {"Idempotency-Key": key}, asked)
        if accepted is None:
            return
        if accepted.status != 202:
            self.say(f"  the portal refused it: {safe(str(accepted.body.get('detail', accepted.status)))}")
            return
        place = str(accepted.body["url"])
        self.say(f"  {self.user.email} submitted {_FILE.parent.name}/{_FILE.name} to {self.assignment}")
        self._follow(place)

    def _follow(self, place: str) -> None:
        told = ""
        while found := self._until_answered("GET", place):
            if found.status != 200:
                self.say(f"  can't read the submission: {safe(str(found.body.get('detail', found.status)))}")
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
        """The portal's answer, after as many tries as needed. None if everything ends before."""
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
            where = f"{self.url}/submissions/{place.rpartition('/')[2]}"
            result = found.get("result") or {}
            checks = [check.get("status") for check in result.get("checks", [])]
            ran = [status for status in checks if status != "not_run"]
            cases = f", {ran.count('passed')} of {len(ran)} cases passed" if ran else ""
            measured = result.get("measurement") or {}
            speed = f", {measured['gflops']:,.0f} GFLOPS" if isinstance(measured.get("gflops"), float) else ""
            return f"graded: {found.get('verdict')}{cases}{speed}\n  {where}"
        if state == "running":
            at = [step["name"] for step in found.get("steps", []) if step["state"] == "running"]
            return f"in progress: {', '.join(at)}" if at else "in progress: between two steps"
        return f"{state}: number {position} in the queue" if position else str(state)
