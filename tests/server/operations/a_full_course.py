"""A course in which everything has happened, so that every table has rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sqlalchemy.orm import Session

from kernels.evidence import Evidence
from kernels.verdict import Finding, Verdict
from server.accounts.models import (
    BrowserSession,
    DeviceLogin,
    Identity,
    LinkPurpose,
    MailKind,
    OneTimeLink,
    Person,
    RateCount,
)
from server.accounts.service import create_token, hash_password
from server.audit.service import note
from server.courses.models import Accommodation, Correction, CourseInvitation, Extension, Role, StaffNote
from server.database.engine import Sessions
from server.dispatching.dispatch import take
from server.experiments.models import Experiment, ExperimentPoint, ExperimentSubmission
from server.fleet.models import Worker
from server.fleet.worker_keys import register_key
from server.grading.models import JobKind, Priority
from server.grading.service import Work, keep_source, queue_job
from server.lti.models import LtiContext, LtiKey, LtiLaunch, LtiLink, LtiPlatform, LtiScore
from server.mail.models import Mail
from server.recording.record import record
from server.submissions.models import ExactCopy, GradingShare, LookedAtPair, RubricGrade, StagedRegrade
from server.submissions.source import read_source
from server.talk.models import Announcement, Comment, ExtensionRequest, RegradeRequest, SavedComment, SeenAnnouncement
from server.teams.models import Team, TeamMember
from tests.server.course import NOW, ACourse, check_result, later, measure_result, step_of
from tests.services.redis_server import as_worker
from worker.contract.messages import CPU_QUEUE, MeasureWork, decode, pack_work

SECRET = "quoted_from_the_source"


def source(of: str) -> bytes:
    """A file that names who wrote it."""
    return f"// by {of}\n__global__ void MatrixMulKernel(float* M) {{ int {SECRET}_{of} = 0; }}\n".encode()


def full_course(made: Sessions) -> ACourse:
    """Ada's kernel is measured, Bob's is wrong, one of each waits, Carol's is under way with a fault behind it."""
    course = ACourse.make(made)
    for name, gflops in (("ada", 4_000.0), ("bob", 5_000.0), ("dora", 3_000.0)):
        measure(course, name, gflops)
    fail(course, "ada")
    course.hand_in("ada", source("ada") + b"// waits\n", key="key-of-ada")
    course.hand_in("bob", source("bob") + b"// waits\n")
    teacher = course.person("teacher", Role.INSTRUCTOR)
    with made.begin() as session:
        ada = session.get_one(Person, course.person("ada"))
        ada.name = "Ada Lovelace"
        ada.password = hash_password("correct horse")
        ada.pseudonym = "Countess"
        create_token(session, ada, "laptop of Ada Lovelace")
        session.add(BrowserSession(person_id=ada.id, digest="a" * 64, user_agent="Ada's browser", created_at=NOW,
                                   used_at=NOW, expires_at=later(60)))  # fmt: skip
        session.add(Identity(person_id=ada.id, issuer="https://sso.example", subject="Ada Lovelace",
                             email="ada@example.edu", created_at=NOW, used_at=NOW))  # fmt: skip
        session.add(OneTimeLink(person_id=ada.id, purpose=LinkPurpose.RESET, digest="b" * 64, created_by=teacher,
                                created_at=NOW, expires_at=later(60)))  # fmt: skip
        session.add(
            DeviceLogin(digest="d" * 64, code="BCDFGHJK", host="adas-laptop", expires_at=later(600), person_id=ada.id)
        )
        session.add(
            Correction(
                assignment_id=course.assignment, person_id=ada.id, score=7.5, reason="Ada Lovelace showed it",
                corrected_by=teacher, corrected_at=NOW,
            )
        )  # fmt: skip
        session.add(Extension(assignment_id=course.assignment, person_id=ada.id, due_at=later(600), created_at=NOW,
                              reason="Ada Lovelace was ill", granted_by=teacher))  # fmt: skip
        session.add(
            RubricGrade(
                assignment_id=course.assignment, person_id=ada.id, submission_id=1, points={"aa": 3.0},
                words={"aa": "Good, Ada Lovelace."}, items=["i1"], adjustment=-0.5, reason="Ada Lovelace was late",
                graded_by=teacher, graded_at=NOW,
            )
        )  # fmt: skip
        session.add(LookedAtPair(left_id=1, right_id=2, note="Ada Lovelace and Bob", looked_by=teacher, looked_at=NOW))
        session.add(GradingShare(assignment_id=course.assignment, person_id=ada.id, grader_id=teacher,
                                 claimed_by=teacher, claimed_until=later(600)))  # fmt: skip
        session.add(Team(id=1, assignment_id=course.assignment, name="7", code="k7qf-m2xp", created_at=NOW))
        session.flush()
        session.add(TeamMember(team_id=1, person_id=ada.id, assignment_id=course.assignment, joined_at=NOW))
        session.add(SavedComment(course_id=course.course, assignment_id=course.assignment, text="Check the bounds."))
        session.add(ExactCopy(submission_id=2, of_id=1, assignment_id=course.assignment))
        session.add(
            CourseInvitation(
                course_id=course.course,
                person_id=ada.id,
                email="ada@example.edu",
                name="Ada",
                role=Role.STUDENT,
                invited_by=teacher,
                created_at=NOW,
            )
        )
        session.add(Accommodation(course_id=course.course, person_id=ada.id, extra_days=1, granted_by=teacher,
                                  reason="Ada Lovelace was ill", granted_at=NOW))  # fmt: skip
        session.add(StaffNote(course_id=course.course, person_id=ada.id, author_id=teacher, created_at=NOW,
                              text="Ada Lovelace came to the lab"))  # fmt: skip
        session.add(Announcement(course_id=course.course, assignment_id=course.assignment, author_id=teacher,
                                 title="Exam", text="On *Friday*.", created_at=NOW))  # fmt: skip
        session.add(SeenAnnouncement(announcement_id=1, person_id=ada.id, seen_at=NOW))
        session.add(Comment(submission_id=1, line=1, author_id=ada.id, by_staff=False, created_at=NOW,
                            text="Why? by ada", waits_since=NOW))  # fmt: skip
        session.flush()
        session.add(Comment(submission_id=1, thread_id=1, author_id=teacher, by_staff=True, created_at=NOW,
                            text="Look, Ada Lovelace.", removed_at=None))  # fmt: skip
        session.add(RegradeRequest(submission_id=1, reason="It is right, says Ada Lovelace.", created_at=NOW))
        session.add(ExtensionRequest(assignment_id=course.assignment, person_id=ada.id, wanted_at=later(600),
                                     reason="Ada Lovelace is ill.", created_at=NOW))  # fmt: skip
        session.add(Mail(person_id=ada.id, kind=MailKind.RESULTS, reference="result 1", subject="Result",
                         path="/submissions/x", made_at=NOW, next_at=NOW))  # fmt: skip
        session.add(StagedRegrade(assignment_id=course.assignment, started_by=teacher, started_at=NOW,
                                  filter="of ada@example.edu"))  # fmt: skip
        connect_platform(session, course.course, course.assignment, ada.id)
        session.add(RateCount(subject=f"person {ada.id}", action="submit", window=1, count=2))
        note(session, ada, "token.created", "person 1", to="ada@example.edu", text="Dear Ada Lovelace, ...")
        note(session, None, "job.retried", "job 1", reason="its worker died")
        experiment = Experiment(
            public_id="e" * 16, course_id=course.course, person_id=teacher, name="Ladder", created_at=NOW,
            plan={"of": "Ada Lovelace"}, points=2, begun=1, ended=0,
            exercise_id=step_of(session, 1).job.exercise_id,
        )  # fmt: skip
        session.add(experiment)
        session.flush()
        theirs = read_source(source("teacher"))
        kept = keep_source(session, theirs.digest, theirs.content, NOW)
        exercise = step_of(session, 1).job.exercise_id
        job = queue_job(session, Work(JobKind.EXPERIMENT, Priority.EXPERIMENT, teacher, kept, exercise, "sm_90",
                                experiment=experiment.id), NOW)  # fmt: skip
        session.add(ExperimentPoint(experiment_id=experiment.id, number=0, variant="f" * 64, job_id=job.job))
        session.add(ExperimentSubmission(experiment_id=experiment.id, kernel="bob's", submission_id=2))
        session.add(Worker(id="host-1", host="host", state="idle", record={"slots": [1, 2.5, None, "ü"]},
                           first_seen=NOW, last_beat=later(5)))  # fmt: skip
        register_key(session, as_worker("redis://h/0"), NOW)
        for number in take(session, CPU_QUEUE, slots=9, cap=4, now=later(20)):
            number.fault = f"killed while it compiled {SECRET}_ada" if number.person_id == ada.id else None
    return course


def connect_platform(session: Session, course: int, assignment: int, person: int) -> None:
    """Connect the course to a platform, from which this person launched, and to which a score waits."""
    platform = LtiPlatform(
        title="Moodle", issuer="https://moodle.example", client_id="tilelab", deployments=["1"], domains=[],
        authorization="https://moodle.example/auth", token="https://moodle.example/token",
        keys="https://moodle.example/keys", created_at=NOW,
    )  # fmt: skip
    session.add_all([platform, LtiKey(private={"kty": "RSA"}, created_at=NOW)])
    session.flush()
    context = LtiContext(platform_id=platform.id, course_id=course, deployment="1", name="c-1", title="GPU",
                         connected_at=NOW)  # fmt: skip
    session.add(context)
    session.flush()
    link = LtiLink(context_id=context.id, assignment_id=assignment, name="l-1", line_item="https://moodle.example/1")
    session.add(link)
    session.flush()
    session.add(LtiLaunch(platform_id=platform.id, nonce="n", ticket="c" * 64, state="s", made_at=NOW,
                          said={"person_name": "Ada Lovelace"}, person_id=person))  # fmt: skip
    session.add(LtiScore(link_id=link.id, person_id=person, points=7.5, most=10.0, made_at=NOW, next_at=NOW))


def measure(course: ACourse, name: str, gflops: float, **more: Any) -> int:
    """A right kernel of theirs, all the way."""
    job = course.job(name, source=source(name), **more)
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=9, cap=4, now=NOW)
    with course.sessions.begin() as session:
        passed = check_result(session, job)
        assert passed.measure is not None
        work = decode(MeasureWork, passed.measure.packed)
        quoting = replace(work.report, printed=source(name).decode(), evidence=Evidence())
        passed = replace(passed, measure=pack_work(replace(work, report=quoting)))
    record(course.sessions, passed, later(3))
    with course.sessions.begin() as session:
        take(session, "gpu.h200", slots=9, cap=4, now=later(4))
    with course.sessions.begin() as session:
        final = measure_result(session, job, gflops)
        assert final.report is not None
        final = replace(final, report=replace(final.report, printed=source(name).decode()))
    record(course.sessions, final, later(9))
    return job


def fail(course: ACourse, name: str) -> int:
    """A wrong kernel of theirs, with a finding that quotes it."""
    job = course.job(name, source=source(name) + b"// wrong\n")
    with course.sessions.begin() as session:
        take(session, CPU_QUEUE, slots=9, cap=4, now=NOW)
    with course.sessions.begin() as session:
        told = check_result(session, job, Verdict.DATA_RACE)
        assert told.report is not None
        finding = Finding(Verdict.DATA_RACE, f"Two threads use {SECRET}_{name} at once.", line=2)
        told = replace(told, report=replace(told.report, message=finding.message, findings=(finding,)))
    record(course.sessions, told, later(3))
    return job
