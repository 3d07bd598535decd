"""RequestSlots that are shared out by turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from server.http.concurrency_limit import Asker, Outcome, RequestSlots


def test_those_who_wait_get_places_by_turns():
    places, order = RequestSlots(1), list[str]()
    first = Asker("first", 1, 9)
    assert places.take(first, 0, stays) is Outcome.TAKEN
    crowd, other = Asker("crowd", 1, 3), Asker("other", 1, 3)
    threads = [started(lambda: wait_and_go(places, crowd, order), places, number) for number in range(1, 4)]
    assert places.take(crowd, 0, stays) is Outcome.TOO_MANY
    threads.append(started(lambda: wait_and_go(places, other, order), places, 4))
    places.give_back(first)
    for thread in threads:
        thread.join(10)
    assert order == ["crowd", "other", "crowd", "crowd"]


def test_who_took_much_of_the_processor_rests_while_others_ask():
    places, heavy, other = RequestSlots(2), Asker("heavy", 2, 9), Asker("other", 1, 9)
    places.paced = True
    for _ in range(2):
        assert places.take(heavy, 0, stays) is Outcome.TAKEN
        places.give_back(heavy, 0.5)
    assert places.take(heavy, 0, stays) is Outcome.TAKEN, "nobody else asks"
    places.give_back(heavy)
    assert places.take(other, 0, stays) is Outcome.TAKEN
    places.give_back(other, 0.01)
    assert places.take(heavy, 0, stays) is Outcome.BUSY
    assert places.take(other, 0, stays) is Outcome.TAKEN, "its own answer took little"


def test_who_rested_gets_a_place_without_a_call():
    places, heavy = RequestSlots(2), Asker("heavy", 2, 9)
    places.paced = True
    for asker, seconds in ((heavy, 0.17), (Asker("other", 1, 9), 0.0)):
        assert places.take(asker, 0, stays) is Outcome.TAKEN
        places.give_back(asker, seconds)
    began = time.monotonic()
    assert places.take(heavy, 10, stays) is Outcome.TAKEN
    assert time.monotonic() - began > 0.1


def started(target: Callable[[], None], places: RequestSlots, waiting: int) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    while sum(map(len, places._queues.values())) < waiting:
        time.sleep(0.001)
    return thread


def wait_and_go(places: RequestSlots, asker: Asker, order: list[str]) -> None:
    assert places.take(asker, 10, stays) is Outcome.TAKEN
    order.append(str(asker.name))
    places.give_back(asker)


def stays() -> bool:
    return False
