"""Results that can't be trusted: a swapped source, a forged verdict, a worker that answers for another."""

from __future__ import annotations

import base64
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kernels.verdict import Verdict
from server.dispatching.dispatch import message_of, take
from server.fleet.worker_keys import register_key, revoke_keys, rotate_key
from server.grading.attempts import ticket_of
from server.grading.models import Job, StepState
from server.grading.refusals import recent_refusals
from server.recording import recorder as recording
from server.recording.origin import Distrust, submitted_digest
from server.recording.recorder import Recorder
from tests.server.course import (
    AFTER_ANY_PAUSE,
    NOW,
    ACourse,
    check_result,
    measure_result,
    result_of,
    signed,
    step_of,
    written,
)
from tests.server.dispatching.redis_stand_in import StandIn
from tests.services.redis_server import A_WORKER, as_worker
from worker.contract.claims import Stand
from worker.contract.credential import Credential, read_credential, seal
from worker.contract.messages import CPU_QUEUE, StepKind, encode, graded_digest
from worker.supervision.heartbeat import Heartbeat

STRANGER = Credential("stranger", ("cpu",), "99" * 32)


@pytest.fixture
def sent(made):
    """A result of a check that is under way."""
    course = ACourse.make(made, device_class="")
    job = course.job("eve")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=NOW)
    with made.begin() as session:
        return check_result(session, job, Verdict.ACCEPTED)


@pytest.fixture
def refused():
    return []


@pytest.fixture
def recorder(engine, refused):
    return Recorder(engine, StandIn(), Heartbeat(None), distrusted=refused.append)


def forged(sent) -> dict[Distrust, str]:
    body = encode(sent)
    return {
        Distrust.UNSIGNED: body,
        Distrust.SIGNATURE: seal(replace(STRANGER, name=A_WORKER.name), body),
        Distrust.QUEUE: seal(STRANGER, encode(replace(sent, worker="stranger.1/gpu-0"))),
        Distrust.WORK: seal(A_WORKER, encode(replace(sent, graded="0" * 64))),
    }


def register(made, *credentials: Credential) -> None:
    with made.begin() as session:
        for credential in credentials:
            register_key(session, as_worker("redis://h/0", credential), NOW)


@pytest.mark.parametrize("why", Distrust)
def test_a_result_that_cannot_be_trusted_is_refused_and_its_step_is_queued_again(recorder, sent, made, refused, why):
    register(made, A_WORKER, replace(STRANGER, queues=("gpu",)))
    assert written(recorder, forged(sent)[why])
    assert refused == [why]
    assert recorder.claims.held[sent.ticket].stand is Stand.SETTLED, "its worker sends it no more"
    with made.begin() as session:
        assert result_of(session, sent.ticket.job) is None
        step = step_of(session, sent.ticket.job)
        assert (step.state, step.attempt, step.attempts) == (StepState.QUEUED, 0, [])
        (seen,) = recent_refusals(session, datetime.now(UTC))
        assert (seen.job, seen.why) == (sent.ticket.job, why.value)
        take(session, CPU_QUEUE, slots=1, cap=1, now=AFTER_ANY_PAUSE)
    with made.begin() as session:
        again = check_result(session, sent.ticket.job, Verdict.ACCEPTED)
    assert written(recorder, signed(made, again))
    with made.begin() as session:
        assert session.get_one(Job, sent.ticket.job).verdict is Verdict.ACCEPTED


def test_a_worker_signs_for_no_other(recorder, sent, made, refused):
    register(made, A_WORKER, STRANGER)
    assert written(recorder, seal(STRANGER, encode(sent)))
    assert refused == [Distrust.QUEUE]


def test_a_signature_is_not_valid_for_another_attempt(recorder, sent, made, refused):
    replayed = signed(made, sent)
    name, signature, _ = replayed.split(":")
    other = encode(replace(sent, ticket=replace(sent.ticket, token="0" * 32)))
    assert written(recorder, f"{name}:{signature}:{other}")
    assert refused == [Distrust.SIGNATURE]
    with made.begin() as session:
        assert step_of(session, sent.ticket.job).state is StepState.SENT, "the attempt goes on"
    assert written(recorder, replayed)
    assert written(recorder, replayed)
    with made.begin() as session:
        assert session.get_one(Job, sent.ticket.job).verdict is Verdict.ACCEPTED


def test_refused_results_do_not_come_for_ever(recorder, sent, made, monkeypatch):
    monkeypatch.setattr(recording, "RETURNS", 0)
    assert written(recorder, encode(sent))
    with made.begin() as session:
        step = step_of(session, sent.ticket.job)
        assert (step.state, step.attempt) == (StepState.QUEUED, 1)


def test_a_replaced_key_is_valid_for_a_day_and_a_revoked_one_for_seconds(recorder, sent, made, refused):
    first = signed(made, sent)
    clock = [100.0]
    recorder._keys.clock = lambda: clock[0]
    with made.begin() as session:
        new = read_credential(rotate_key(session, "redis://h/0", A_WORKER.name, datetime.now(UTC)))
    # about an attempt that is over, so that nothing is recorded
    over = encode(replace(sent, ticket=replace(sent.ticket, token="over")))
    assert written(recorder, seal(A_WORKER, over))
    assert written(recorder, seal(new, over))
    assert refused == []
    with made.begin() as session:
        revoke_keys(session, A_WORKER.name)
    clock[0] += 5.0
    assert written(recorder, first)
    assert refused == [Distrust.SIGNATURE]


def test_a_worker_and_the_recorder_agree_on_the_digest_of_each_kind_of_work(made):
    course = ACourse.make(made)
    job = course.job("ada")
    with made.begin() as session:
        take(session, CPU_QUEUE, slots=1, cap=1, now=NOW)
    with made.begin() as session:
        step = step_of(session, job)
        message = message_of(step, 20.0)
        assert graded_digest(message) == submitted_digest(step)
        assert message.check is not None
        swapped = replace(message.check, source=base64.b64encode(b"// another").decode())
        assert graded_digest(replace(message, check=swapped)) != submitted_digest(step)
        for change in ({"seed": "1"}, {"arch": "sm_80"}, {"tile": 8}, {"evidence": False}):
            assert graded_digest(replace(message, check=replace(message.check, **change))) != submitted_digest(step)
        result = check_result(session, job)
    recorded(made, result)
    with made.begin() as session:
        take(session, "gpu.h200", slots=1, cap=1, now=NOW)
    with made.begin() as session:
        step = step_of(session, job, StepKind.MEASURE)
        digest = submitted_digest(step)
        assert graded_digest(message_of(step, 20.0)) == digest == step.work_digest
        step.work_digest = None
        assert submitted_digest(step) == digest, "of a step that an earlier version queued"
        session.rollback()
    with made.begin() as session:
        ticket = ticket_of(step_of(session, job, StepKind.MEASURE))
        assert measure_result(session, job, 100.0).ticket == ticket


def recorded(made, result) -> None:
    from server.recording.record import record

    record(made, result, NOW)


def test_no_statement_reads_a_source_or_a_kernel_to_compare_digests(made, engine, sent):
    from sqlalchemy import event

    statements: list[str] = []
    event.listen(engine, "before_cursor_execute", lambda *given: statements.append(given[2]))
    with made.begin() as session:
        step = step_of(session, sent.ticket.job)
        assert step.job.exercise.name
        read = len(statements)
        assert submitted_digest(step) == sent.graded
    assert len(statements) == read
