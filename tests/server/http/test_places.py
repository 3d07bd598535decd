"""Places that are shared out by turns."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from server.http.places import Asker, Outcome, Places


def test_those_who_wait_get_places_by_turns():
    places, order = Places(1), list[str]()
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


def started(target: Callable[[], None], places: Places, waiting: int) -> threading.Thread:
    thread = threading.Thread(target=target)
    thread.start()
    while sum(map(len, places._queues.values())) < waiting:
        time.sleep(0.001)
    return thread


def wait_and_go(places: Places, asker: Asker, order: list[str]) -> None:
    assert places.take(asker, 10, stays) is Outcome.TAKEN
    order.append(str(asker.name))
    places.give_back(asker)


def stays() -> bool:
    return False
