"""Claims in a real Redis: one holder at a time, whatever happens to workers and to Redis."""

from __future__ import annotations

import threading
import time

import pytest

from tests.services.redis_server import RedisServer
from worker.contract.broker import BrokerUnavailable, connect_redis
from worker.contract.claims import Claim, Stand
from worker.contract.messages import StepKind, Ticket
from worker.contract.redis_claims import RedisClaims

LONG, SHORT = 600.0, 0.05


@pytest.fixture
def claims(redis_url):
    with connect_redis(redis_url) as client:
        yield RedisClaims(client)


def ticket(job: int = 1, token: str = "t0") -> Ticket:
    return Ticket(job, StepKind.CHECK, token)


def gone(claims: RedisClaims, of: Ticket) -> bool:
    deadline = time.monotonic() + 30
    while claims.look([of]) != [Claim(Stand.FREE)]:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True


def test_an_attempt_is_taken_once_and_not_by_its_holder_again(claims):
    assert claims.look([ticket()]) == [Claim(Stand.FREE)]
    assert claims.claim(ticket(), "a", LONG)
    assert not claims.claim(ticket(), "b", LONG)
    assert not claims.claim(ticket(), "a", LONG), "a second copy of its message"
    assert claims.claim(ticket(token="t1"), "b", LONG), "another attempt at the same step"
    assert claims.look([ticket(), ticket(2), ticket(token="t1")]) == [
        Claim(Stand.CLAIMED, "a"),
        Claim(Stand.FREE),
        Claim(Stand.CLAIMED, "b"),
    ]
    assert claims.look([]) == []


def test_of_many_at_once_exactly_one_has_it(redis_url):
    rounds, hands = 40, 4
    barrier = threading.Barrier(hands)
    won: list[tuple[int, int]] = []

    def take(hand: int) -> None:
        with connect_redis(redis_url) as client:
            own = RedisClaims(client)
            for job in range(rounds):
                barrier.wait(60)
                if own.claim(ticket(job), f"w{hand}", LONG):
                    won.append((job, hand))

    threads = [threading.Thread(target=take, args=(hand,)) for hand in range(hands)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert sorted(job for job, _ in won) == list(range(rounds))


def test_a_beat_prolongs_only_ones_own(claims):
    claims.claim(ticket(), "a", SHORT)
    assert claims.beat(ticket(), "a", LONG)
    time.sleep(2 * SHORT)
    assert claims.look([ticket()]) == [Claim(Stand.CLAIMED, "a")]
    assert not claims.beat(ticket(), "b", LONG)
    assert not claims.beat(ticket(), "b", LONG, overslept=True)


def test_who_overslept_has_lost_what_ran_out(claims):
    claims.claim(ticket(), "a", SHORT)
    assert gone(claims, ticket())
    assert not claims.beat(ticket(), "a", LONG, overslept=True)
    assert claims.look([ticket()]) == [Claim(Stand.FREE)]
    assert claims.beat(ticket(), "a", LONG), "who did not oversleep knows that it was Redis that lost it"
    assert claims.beat(ticket(), "a", LONG, overslept=True), "nobody has taken it meanwhile"


@pytest.mark.parametrize("end", ["settle", "revoke"])
def test_what_has_ended_is_neither_taken_nor_beaten(claims, end):
    claims.claim(ticket(), "a", LONG)
    getattr(claims, end)(ticket())
    assert claims.look([ticket()]) == [Claim(Stand(f"{end}d"))]
    assert not claims.beat(ticket(), "a", LONG)
    assert not claims.claim(ticket(), "b", LONG)


def test_redis_away_and_back_without_its_data(tmp_path):
    with RedisServer(tmp_path) as server, connect_redis(server.url) as client:
        claims = RedisClaims(client)
        assert claims.claim(ticket(), "a", LONG)
        assert claims.beat(ticket(), "a", LONG)
        server.kill()
        for act in (
            lambda: claims.claim(ticket(), "a", LONG),
            lambda: claims.beat(ticket(), "a", LONG),
            lambda: claims.settle(ticket()),
            lambda: claims.look([ticket()]),
        ):
            with pytest.raises(BrokerUnavailable) as caught:
                act()
            assert server.url.split(":")[2].split("@")[0] not in str(caught.value), "the password"
            assert "\n" not in str(caught.value)
        server.start()
        assert claims.beat(ticket(), "a", LONG), "the script is sent anew, and the claim written anew"
        assert claims.look([ticket()]) == [Claim(Stand.CLAIMED, "a")]


def test_a_value_that_nobody_here_writes_is_no_claim(claims, redis_url):
    with connect_redis(redis_url) as client:
        client.set("tilelab:claim:1:check:t0", "nonsense")
    assert claims.look([ticket()]) == [Claim(Stand.FREE)]
