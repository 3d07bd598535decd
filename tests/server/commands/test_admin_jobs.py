"""`tilelab admin jobs`, by the command's own entry."""

from __future__ import annotations

import json

import pytest
from click.testing import Result

from server.database.engine import Sessions
from server.dispatching.dispatch import take
from server.grading.models import Job, JobState
from tests.server.commands import admin
from tests.server.course import NOW, ACourse
from worker.contract.messages import CPU_QUEUE


@pytest.fixture
def course(made: Sessions) -> ACourse:
    return ACourse.make(made)


def run(*words: str) -> Result:
    return admin.run("jobs", *words)


def listed(*words: str) -> list[int]:
    found = run("list", "--json", *words)
    assert found.exit_code == 0, found.output
    return [line["job"] for line in json.loads(found.output)]


def test_jobs_are_listed_by_what_is_asked_for(course):
    ada, bob = course.job("ada"), course.job("bob", source=b"// b")
    assert listed() == [bob, ada]
    assert listed("--person", "ADA@example.edu") == [ada]
    assert listed("--state", "done") == []
    assert listed("--verdict", "system_error") == []
    assert listed("--assignment", "gpu/tiled", "--limit", "1") == [bob]
    assert listed("--older-than", "1s") == ([bob, ada] if _past() else [])
    text = run("list").output
    assert "ada@example.edu" in text
    assert "queued" in text
    assert run("list", "--state", "cancelled").output == "No matching jobs.\n"


def test_a_job_is_shown_with_the_times_of_its_attempts(course):
    job = course.job("ada")
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=NOW)
    text = run("show", str(job)).output
    assert "step check: sent, queue cpu" in text
    assert "attempt 1: running" in text
    shown = json.loads(run("show", str(job), "--json").output)
    assert shown["assignment"] == "gpu/tiled"
    (attempt,) = shown["steps"][0]["attempts"]
    assert attempt["number"] == 1
    assert (attempt["sent_at"], attempt["ended_at"]) == (NOW.isoformat(timespec="seconds"), None)


def test_a_job_is_cancelled_and_graded_again(course):
    job = course.job("ada")
    assert run("retry", str(job)).exit_code == 2
    assert run("cancel", str(job)).output == f"Cancelled: job {job}.\n"
    assert run("cancel", str(job)).exit_code == 2
    found = json.loads(run("retry", str(job), "--json").output)
    with course.sessions.begin() as session:
        assert session.get_one(Job, job).state is JobState.CANCELLED
        assert session.get_one(Job, found["jobs"][0]).state is JobState.QUEUED
    assert "Queued 0 jobs" in run("retry", "--assignment", "gpu/tiled").output


def test_of_several_jobs_each_is_told_what_became_of_it(course):
    first, over, last = (course.job(name, source=name.encode()) for name in ("ada", "bob", "eve"))
    run("cancel", str(over))
    found = run("cancel", str(first), "4711", str(over), str(last))
    assert found.exit_code == 2
    assert found.stdout == f"Cancelled: job {first}, job {last}.\n"
    assert [line.partition(":")[0] for line in found.stderr.splitlines()] == ["tilelab"] * 2
    assert " job 4711" in found.stderr
    assert f"Job {over} is cancelled" in found.stderr
    again = run("cancel", "--json", str(course.job("dora")), str(over))
    told = json.loads(again.stdout)
    assert (again.exit_code, told["cancelled"]) == (2, [last + 1])
    assert [each["job"] for each in told["not_cancelled"]] == [over]
    assert told["not_cancelled"][0]["why"] in again.stderr


def test_when_one_of_several_jobs_cannot_be_retried_none_is(course):
    job = course.job("ada")
    run("cancel", str(job))
    found = run("retry", str(job), "4711")
    assert (found.exit_code, found.stdout) == (2, "")
    assert " job 4711" in found.stderr
    assert "None was retried." in found.stderr
    assert listed() == [job]


@pytest.mark.parametrize(
    "words",
    [
        ["show", "4711"],
        ["cancel", "4711"],
        ["retry", "4711"],
        ["retry"],
        ["retry", "1", "--assignment", "gpu/tiled"],
        ["list", "--assignment", "no/such"],
        ["list", "--older-than", "soon"],
    ],
    ids=" ".join,
)
def test_what_cannot_be_done_is_told_in_one_line(course, words):
    found = run(*words)
    assert found.exit_code == 2
    assert len(found.output.strip().splitlines()) == 1


@pytest.mark.parametrize("verb", ["show", "cancel", "retry"])
def test_a_number_that_no_job_can_have_is_wrong_use(course, verb):
    found = run(verb, "9" * 30)
    assert found.exit_code == 2
    assert "is not in the range" in found.output


def _past() -> bool:
    """Whether the moment at which the tests hand in has passed by the clock of this machine."""
    from datetime import UTC, datetime, timedelta

    return datetime.now(UTC) > NOW + timedelta(seconds=1)
