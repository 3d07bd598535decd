"""Silence is added up only while somebody listens."""

from __future__ import annotations

from worker.supervision.pulse import Pulse


def looked(pulse: Pulse, moments: range) -> bool:
    return any(pulse.hangs(float(moment)) for moment in moments)


def begun() -> Pulse:
    pulse = Pulse(most_seconds=30.0, most_start_seconds=120.0)
    pulse.begin(0.0)
    return pulse


def test_silence_after_the_first_beat_hangs():
    pulse = begun()
    pulse.beat()
    assert not looked(pulse, range(1, 31))
    assert looked(pulse, range(31, 33))


def test_either_of_two_pulses_can_hang():
    one, other = begun(), Pulse(most_seconds=10.0)
    one.other = other
    one.begin(0.0)
    one.beat()
    other.beat()
    assert not looked(one, range(1, 11))
    one.beat()
    assert looked(one, range(11, 14))
    assert one.silent_seconds >= 10.0
    one.begin(14.0)
    assert not looked(one, range(15, 30))


def test_a_start_may_take_longer():
    pulse = begun()
    assert not looked(pulse, range(1, 119))
    assert looked(pulse, range(119, 122))


def test_each_beat_begins_the_silence_anew():
    pulse = begun()
    for moment in range(1, 200, 20):
        pulse.beat()
        assert not looked(pulse, range(moment, moment + 20))


def test_a_pause_of_the_listener_is_nobodys_silence():
    pulse = begun()
    pulse.beat()
    assert not pulse.hangs(1.0)
    assert not pulse.hangs(10_000.0)
    assert pulse.silent_seconds <= 2.0


def test_a_new_process_is_not_blamed_for_the_one_before():
    pulse = begun()
    pulse.beat()
    assert looked(pulse, range(1, 40))
    pulse.begin(40.0)
    assert not looked(pulse, range(41, 100))
