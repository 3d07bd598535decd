"""The outbox and the beats, with real Redis, where a process would take too long to bring it about."""

from __future__ import annotations

import threading
import time

import pytest

from tests.worker.queue.slots import until
from worker.contract.broker import connect_redis
from worker.contract.claims import Claim, Stand
from worker.contract.messages import StepKind, Ticket
from worker.contract.redis_claims import RedisClaims
from worker.queue.claim_heartbeat import ClaimHeartbeat
from worker.queue.outbox import Outbox

LONG = 600.0


class Post:
    """Where results go; away, if told so."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.away = False
        self.queued = 0

    def send(self, body: str) -> None:
        if self.away:
            raise ConnectionError("no Redis")
        self.sent.append(body)

    def waiting(self) -> int:
        return self.queued


@pytest.fixture
def claims(redis_url):
    with connect_redis(redis_url) as client:
        yield RedisClaims(client)


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def outbox(claims, post):
    outbox = Outbox(claims, "w", post.send, post.waiting, most=2, most_bytes=100, resend_seconds=0.2)
    yield outbox
    outbox.close()


def ticket(job: int = 1) -> Ticket:
    return Ticket(job, StepKind.CHECK, "t")


def add(outbox: Outbox, job: int, body: str = "x", lease: float = 3.0) -> None:
    outbox.add(ticket(job), 1, body, lease, beaten=time.monotonic())


def test_a_result_is_sent_until_it_is_settled(outbox, post, claims):
    claims.claim(ticket(), "w", LONG)
    add(outbox, 1, lease=LONG)
    until(lambda: len(post.sent) > 2)
    assert claims.look([ticket()]) == [Claim(Stand.CLAIMED, "w")]
    claims.settle(ticket())
    assert outbox.wait(lambda: not outbox.open, 60)


@pytest.mark.parametrize("number", [1, 2])
def test_it_is_full_by_number_and_by_bytes(outbox, post, claims, number):
    for job in range(number):
        assert not outbox.full
        add(outbox, job, "x" * 100 if number == 1 else "x")
    assert outbox.full
    for job in range(number):
        claims.settle(ticket(job))
    assert outbox.wait(lambda: not outbox.full, 60)


def test_nothing_is_sent_again_while_results_wait_to_be_recorded(outbox, post, claims):
    post.queued = 3
    claims.claim(ticket(), "w", LONG)
    add(outbox, 1)
    until(lambda: post.sent)
    time.sleep(1.5)
    assert len(post.sent) == 1
    post.queued = 0
    until(lambda: len(post.sent) > 1)


def test_the_longer_nobody_records_the_more_seldom_it_is_sent(claims, post):
    clock = [time.monotonic()]
    post.queued = 1
    outbox = Outbox(claims, "w", post.send, post.waiting, now=lambda: clock[0])
    try:
        claims.claim(ticket(), "w", LONG)
        outbox.add(ticket(), 1, "x", LONG, beaten=clock[0])
        gaps = []
        until(lambda: post.sent)
        for copies in range(2, 9):
            begun = clock[0]
            while len(post.sent) < copies:
                clock[0] += 20
                assert clock[0] - begun < 7200
                outbox.wait(lambda: False, 0.02)
                with outbox._changed:
                    outbox._changed.notify_all()
            gaps.append(clock[0] - begun)
        assert gaps[-1] > 10 * gaps[0]
    finally:
        outbox.close()


def test_what_breaks_while_sending_costs_no_result(outbox, post, claims, monkeypatch):
    whole, broken = post.send, [1, 1]

    def send(body: str) -> None:
        if broken:
            raise RuntimeError(broken.pop())
        whole(body)

    monkeypatch.setattr(outbox, "_send", send)
    add(outbox, 1)
    until(lambda: post.sent)


def test_what_could_not_be_sent_is_known(outbox, post, claims):
    post.away = True
    add(outbox, 1)
    add(outbox, 2)
    time.sleep(0.3)
    assert (outbox.unsent, outbox.open) == (2, 2)
    post.away = False
    assert outbox.wait(lambda: outbox.unsent == 0, 60) or outbox.unsent == 0


def test_a_revoked_result_is_forgotten(outbox, post, claims):
    claims.revoke(ticket())
    add(outbox, 1)
    assert outbox.wait(lambda: not outbox.open, 60)


def test_a_lost_claim_is_told_until_the_step_ends(claims):
    told = threading.Semaphore(0)
    claims.claim(ticket(), "w", 0.2)
    with ClaimHeartbeat(claims, ticket(), "w", 0.2, told.release) as heartbeat:
        claims.revoke(ticket())
        assert told.acquire(timeout=60)
        assert heartbeat.lost
        assert told.acquire(timeout=60), "the step may not have begun the first time"


def test_a_late_first_beat_counts_from_the_claim(claims):
    lost = threading.Event()
    with ClaimHeartbeat(claims, ticket(), "w", 0.2, lost.set, claimed=time.monotonic() - 9) as heartbeat:
        assert lost.wait(60)
        assert heartbeat.lost
    asked = []
    clock = iter(range(100, 1000))  # a tenth of the lease between two looks at it, however busy this machine is

    def now() -> float:
        asked.append(next(clock))
        return asked[-1] / 50

    claims.claim(ticket(2), "w", 0.2)
    with ClaimHeartbeat(claims, ticket(2), "w", 0.2, lost.set, now=now) as heartbeat:
        until(lambda: len(asked) > 9)
        assert not heartbeat.lost
    assert claims.look([ticket(2)])[0].stand in {Stand.CLAIMED, Stand.FREE}


class Away:
    """Claims of which only the first try to beat reaches nobody."""

    def __init__(self) -> None:
        self.overslept: list[bool] = []

    def beat(self, ticket: Ticket, worker: str, lease_seconds: float, *, overslept: bool = False) -> bool:
        self.overslept.append(overslept)
        if len(self.overslept) == 1:
            raise ConnectionError
        return True


def test_who_overslept_and_reached_nobody_says_so_again():
    now, claims = [0.0], Away()
    heartbeat = ClaimHeartbeat(claims, ticket(), "w", 10.0, lambda: None, now=lambda: now[0])  # type: ignore[arg-type]
    for now[0] in (11.0, 12.0, 13.0):
        assert heartbeat._beat()
    assert claims.overslept == [True, True, False]
