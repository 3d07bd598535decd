"""What pages can be in the middle of: submissions on their way, and courses where nothing has happened.

No worker runs here, so that each stays as it was brought.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from bench.copies.authors import kernel
from bench.copies.disguises import disguised
from kernels.exercise import InputKind
from kernels.exercise.trial import Trial
from kernels.verdict import Verdict
from server.accounts.digest import digest_of
from server.accounts.models import DeviceLogin, Person
from server.assignments.extension_requests import request_extension
from server.assignments.trial import start_trial
from server.audit.service import note
from server.courses.models import Assignment, Course, Exercise, Membership, Role
from server.courses.service import create_assignment
from server.enrolment.course_invitations import Invited, invite, refuse
from server.exercises.stored import content_of, keep
from server.experiments.progress import ExperimentRunner
from server.grades.criteria import Criterion, Given, criteria_of
from server.grades.losses import students_grades
from server.grades.rubric import change_rubric, code_of, give_points
from server.grading.models import Job
from server.lti.models import LtiContext, LtiLaunch, LtiLink, LtiPlatform, LtiScore
from server.regrades.requests import request_regrade
from server.standings.service import freeze
from server.submissions.changes import cancel, regrade
from server.submissions.models import Mode, StagedRegrade, Submission
from server.talk.announcements import Written, announce, withdraw
from server.talk.comments import write_comment
from server.teams.service import make_team
from tests.server.course import NOW, SUBMITTED, ACourse, later
from tests.server.experiments.started import TILE, measured, runner_of, sent, started
from tests.server.experiments.started import checked as report_on
from tests.server.staff.proven import FILES, drafted
from tests.server.standings.results import checked, public_id, ranked
from tests.server.submissions.graded import given_up, taken
from worker.contract.messages import StepKind


def brought(course: ACourse) -> dict[str, str]:
    """Submissions by what they are in, each of a student who is called so; the last ones are still to be taken."""
    drafted(course, "drafted", "ina")
    _tried(course, "ada")
    jobs = {
        "measured": ranked(course, "measured", 2_000.0, source=b"// measured\n"),
        "wrong": course.job("wrong", source=b"// wrong\n", mode=Mode.CHECK),
        "fault": course.job("fault", source=b"// fault\n", mode=Mode.CHECK),
        "measuring": course.job("measuring", source=b"// measuring\n"),
    }
    checked(course, jobs["measuring"])
    checked(course, jobs["wrong"], Verdict.WRONG_ANSWER, message="P[1][2] is wrong.")
    taken(course, jobs["measuring"], StepKind.MEASURE)
    given_up(course, jobs["fault"])
    jobs["again"] = _graded_again(course)
    jobs["checking"] = course.job("checking", source=b"// checking\n", mode=Mode.CHECK)
    taken(course, jobs["checking"])
    jobs["queued"] = course.job("queued", source=b"// queued\n")
    jobs["stopped"] = course.job("stopped", source=b"// stopped\n")
    jobs["original"] = course.job("original", source=kernel(3).encode())
    jobs["copy"] = course.job(
        "copy", source=disguised(kernel(3), "renamed, reordered, reformatted, comments", 1).encode()
    )
    with course.sessions.begin() as session:
        for name in ("stopped", "original", "copy"):
            cancel(session, jobs[name], session.get_one(Person, course.people[name]))
        other = create_assignment(session, session.get_one(Course, course.course), "reduction", now=NOW)
        other.due_at = datetime.now(UTC) + timedelta(days=2)
        other.title = "Sum of a vector of any length, reduced by the threads of one block"
        session.add(StagedRegrade(assignment_id=other.id, started_at=NOW))
    return {name: public_id(course, job) for name, job in jobs.items()}


def _tried(course: ACourse, name: str) -> None:
    """A student's last trial, which printed much."""
    with course.sessions.begin() as session:
        assignment, trial = session.get_one(Assignment, course.assignment), Trial({"Width": 2}, InputKind.INTEGERS_LEFT)
        start_trial(session, assignment, course.people[name], SUBMITTED, trial, NOW, staff=False)
        job = session.scalars(select(Job.id).where(Job.trial_of_id.is_not(None))).one()
    checked(course, job, Verdict.WRONG_ANSWER, printed="tx is 0, and P is 1\n" * 60)


def announced(course: ACourse) -> dict[str, str]:
    """Announcements of ina's, on the course and on its assignment; the last one is withdrawn."""
    with course.sessions.begin() as session:
        ina = session.get_one(Person, course.people["ina"])
        tiled = session.get_one(Assignment, course.assignment)
        exam = announce(session, course.course, None, ina, _EXAM, later(60))
        announce(session, course.course, tiled, ina, Written("Tile 32 works now", "Use `TILE_WIDTH`."), later(90))
        withdraw(session, announce(session, course.course, None, None, Written("Wrong", "x"), later(95)), ina)
    return {"announcement": str(exam.id)}


def commented(course: ACourse, public_id: str) -> dict[str, str]:
    """Comments on a submission with an open question, a regrade request, and an extension request."""
    with course.sessions.begin() as session:
        found = session.scalars(select(Submission).where(Submission.public_id == public_id)).one()
        ina = session.get_one(Person, course.people["ina"])
        first = write_comment(session, found, found.person, "Why is this\nslow?", line=6)
        write_comment(session, found, ina, "Each warp reads one column.", thread=first.id)
        write_comment(session, found, ina, "Good names.")
        asked = request_regrade(session, found, found.person, "The speed was measured while\nthe GPU was busy.")
        wanted = request_extension(
            session,
            session.get_one(Assignment, course.assignment),
            found.person,
            datetime.now(UTC) + timedelta(days=30),
            "My laptop is being repaired.",
        )
        write_comment(session, found, found.person, "May I use float4 here, " + "and so on " * 20, line=9)
        return {"request": str(asked.id), "extension": str(wanted.id)}


def graded_by_rubric(course: ACourse, name: str) -> dict[str, str]:
    """A student graded by one of two criteria, on the submission that counts."""
    with course.sessions.begin() as session:
        assignment = session.get_one(Assignment, course.assignment)
        ina = session.get_one(Person, course.people["ina"])
        texts = ("Names say what they hold. No dead code.", "")
        criteria = [Criterion("", title, 4.0, text) for title, text in zip(("Readable", "Report"), texts, strict=True)]
        change_rubric(session, assignment, ina, criteria)
        counted = students_grades(session, assignment, course.people[name])[course.people[name]].counted
        assert counted is not None
        found = session.get_one(Submission, counted.entry.submission_id)
        first = criteria_of(assignment.rubric)[0].key
        give_points(session, found, ina, Given({first: 3.0}, {first: "The loop over phases is too long."}))
        return {"counts": found.public_id, "code": code_of(assignment, found.person_id)}


_EXAM = Written(
    "Exam on Friday, in the large lecture hall on the second floor",
    "# Bring\n\n- paper\n- a pen\n\n| row | seat |\n| --- | --- |\n| 1 | A |\n\n```cuda\nint tile = 16;\n```\n",
)


def experiments(course: ACourse) -> dict[str, str]:
    """One of ada's experiments that is over, and one that still runs. No other steps may wait."""
    runner, now = runner_of(course), datetime.now(UTC)
    begin = partial(started, course, "ada", _TILE_AND_SIZE, now, device_class="h200", assignment=course.assignment)
    finished = begin()
    _run(course, runner, now, 20)
    running = begin()
    _run(course, runner, now, 2)
    return {"finished": finished, "running": running}


def _run(course: ACourse, runner: ExperimentRunner, now: datetime, rounds: int) -> None:
    """Let points begin, and send what workers would: the last of a round is a race."""
    for _ in range(rounds):
        runner.step(now)
        jobs = sent(course, slots=5)
        for job in jobs:
            race = job == jobs[-1] and len(jobs) == 4
            report_on(course, job, Verdict.DATA_RACE if race else Verdict.ACCEPTED)
        for number, job in enumerate(sent(course, "gpu.h200", slots=5)):
            measured(course, job, 4_000.0 + 900.0 * number + 40.0 * job)


_TILE_AND_SIZE = TILE.replace("[4, 8, 16, 32]", "[8, 16, 32]") + 'Width = "256:2048:*2"\n'


def _graded_again(course: ACourse) -> int:
    """One with a verdict that waits for another."""
    job = course.job("again", source=b"// again\n", mode=Mode.CHECK)
    checked(course, job)
    with course.sessions.begin() as session:
        submission = session.get_one(Submission, session.get_one(Job, job).submission_id)
        assignment = session.get_one(Assignment, course.assignment)
        regrade(session, assignment, None, only=[submission.id])
    return job


def bare_course(course: ACourse) -> None:
    """Courses where little has happened, and somebody in no course, and who runs the server.

    In `bare` are an assignment that nobody handed in to, one with a frozen board, one with a team, and one that was
    set before the judge changed. Two have an exercise of the course: an older version, and a staged version. In
    `void` there is none.
    """
    for name in ("outside", "eve", "root"):
        course.person(name, None)
    with course.sessions.begin() as session:
        made, none = (
            Course(slug=slug, title=title, created_at=NOW)
            for slug, title in (("bare", "Nothing yet"), ("void", "Nothing at all"))
        )
        session.add_all([made, none])
        session.flush()
        for where in (made, none):
            for name, role in (("eve", Role.STUDENT), ("ina", Role.INSTRUCTOR)):
                session.add(Membership(course_id=where.id, person_id=course.people[name], role=role, created_at=NOW))
        for name in ("slow", "idle"):
            person, given = session.get_one(Person, course.people[name]), f"Typed {name}"
            asked = Invited(email=person.email, name=given, role=Role.STUDENT, section="A1")
            invite(session, made, session.get_one(Person, course.people["ina"]), person, asked, NOW)
        refuse(session, session.get_one(Person, course.people["idle"]), 2, NOW)
        exercise = session.get_one(Assignment, course.assignment).exercise
        _set(session, made, "tiled", exercise)
        _set(session, made, "older", _another(session, exercise))
        frozen = _set(session, made, "frozen", exercise)
        _set(session, made, "own", keep(session, content_of("own", FILES), made.id, NOW))
        newer = keep(session, content_of("own", FILES | {"solution.cu": b"// newer\n"}), made.id, NOW)
        staged = _set(session, made, "staged", newer)
        paired = session.get_one(Assignment, _set(session, made, "paired", exercise))
        paired.team_size = 2
        make_team(session, paired, session.get_one(Person, course.people["eve"]))
        session.add(StagedRegrade(assignment_id=staged, started_at=NOW, exercise_id=newer.id))
        session.get_one(Person, course.people["root"]).admin = True
        note(session, None, "worker.drained", "worker gpu-1")
    ranked(replace(course, assignment=frozen), "eve", 1_500.0)
    with course.sessions.begin() as session:
        freeze(session, session.get_one(Assignment, frozen), later(3600))


def _set(session: Session, course: Course, slug: str, exercise: Exercise) -> int:
    made = Assignment(
        course_id=course.id, exercise=exercise, title=slug.capitalize(), created_at=NOW, slug=slug,
        device_class="h200", arch="sm_90",
    )  # fmt: skip
    session.add(made)
    session.flush()
    return made.id


def _another(session: Session, like: Exercise) -> Exercise:
    """The same exercise as another judge would set it."""
    made = Exercise(
        name=like.name, version="0" * 64, digest="0" * 64, title=like.title, definition=like.definition,
        added_at=NOW,
    )  # fmt: skip
    session.add(made)
    return made


def connected(course: ACourse, student: str, instructor: str) -> None:
    """Connect the course to a platform that takes no scores, and begin two launches with the tickets in addresses.

    A command line waits for its code to be confirmed.
    """
    now = datetime.now(UTC)
    address = "https://moodle.university.example"
    with course.sessions.begin() as session:
        session.add(
            LtiPlatform(
                title="Moodle", issuer=address, client_id="kQ3vX0aJr8", deployments=["3"],
                domains=["university.example"],
                authorization=f"{address}/mod/lti/auth.php", token=f"{address}/mod/lti/token.php",
                keys=f"{address}/mod/lti/certs.php", created_at=NOW,
            )
        )  # fmt: skip
        session.flush()
        context = LtiContext(
            platform_id=1, course_id=course.course, deployment="3", name="7", title="GPU programming, spring",
            members=f"{address}/members", connected_at=NOW,
        )  # fmt: skip
        session.add(context)
        session.flush()
        for number, line_item in enumerate((f"{address}/items/1", "")):
            session.add(
                LtiLink(
                    context_id=context.id, assignment_id=course.assignment, name=str(number), line_item=line_item
                )
            )  # fmt: skip
        session.flush()
        session.add(
            LtiScore(
                link_id=1, person_id=course.people[student], points=9.0, most=10.0, made_at=now, tries=3,
                next_at=now + timedelta(minutes=8), fault="moodle.university.example answers 403 (insufficient_scope)",
            )
        )  # fmt: skip
        session.add(
            DeviceLogin(digest=digest_of("ada"), code="BCDFGHJK", host="ada-laptop", expires_at=now + timedelta(days=1))
        )
        said = {
            "subject": "5", "email": "ina@example.edu", "email_verified": True, "person_name": "Ina", "deployment": "3",
            "title": "Parallel computing, spring", "teaches": True, "learns": False, "course": "", "assignment": "",
            "link": "1", "line_item": "", "members": "", "data": "",
        }  # fmt: skip
        for ticket, context_name in (("connect", "8"), ("choose", "7")):
            session.add(
                LtiLaunch(
                    platform_id=1, nonce=ticket, ticket=digest_of(ticket), state=ticket, made_at=now,
                    person_id=course.people[instructor],
                    said={**said, "context": context_name, "return_to": address if ticket == "choose" else ""},
                )
            )  # fmt: skip
