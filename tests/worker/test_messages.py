"""What goes over the broker: real messages come back whole, and hostile ones end in MessageError and nothing else."""

from __future__ import annotations

import base64
import json
import random
import tracemalloc
import zlib
from dataclasses import replace
from typing import Any

import pytest

from kernels.verdict import Verdict
from kernels.wire import to_plain
from tests.marks import linux
from tests.worker.workplaces import check_message, left_open, measure_message
from worker.contract import messages
from worker.contract.messages import (
    MESSAGE_BYTES,
    PLAIN_BYTES,
    PLAIN_MARKS,
    VERSION,
    CheckWork,
    MeasureWork,
    MessageError,
    OtherVersionError,
    StepMessage,
    StepResult,
    decode,
    encode,
    gpu_queue,
    pack_work,
)
from worker.workplaces.cpu import CpuWorkplace

pytestmark = linux


@pytest.fixture(scope="module")
def accepted(tmp_path_factory) -> StepResult:
    """What the check step says of a right kernel, with its evidence and what is left to a GPU."""
    place = CpuWorkplace(tmp_path_factory.mktemp("cache"))
    try:
        return place.do(check_message(), "a worker", lambda _: None)
    finally:
        place.close()


def packed(plain: object) -> str:
    return squeezed(json.dumps(plain).encode())


def squeezed(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data)).decode()


def test_an_accepted_kernel_comes_back_whole_with_its_evidence(accepted):
    assert accepted.report is None
    report = left_open(accepted).report
    assert report.verdict is Verdict.ACCEPTED
    assert report.evidence.totals is not None
    assert report.evidence.lines
    text = encode(accepted)
    assert decode(StepResult, text) == accepted
    assert len(text) < 200_000


def test_every_kind_of_message_comes_back_whole(accepted):
    sent = check_message(tile=8, evidence=False)
    assert decode(StepMessage, encode(sent)) == sent
    assert accepted.measure is not None
    again = measure_message(accepted.measure)
    assert decode(StepMessage, encode(again)) == again
    work = left_open(accepted)
    assert decode(MeasureWork, pack_work(work).packed) == work
    assert sent.check is not None
    assert decode(CheckWork, encode(sent.check)) == sent.check
    fault = StepResult(sent.ticket, "a worker", None, fault="für „staff“ \ud800\0", seconds=1.5)
    assert decode(StepResult, encode(fault)) == fault


def test_the_queue_of_a_device_class():
    assert gpu_queue("h200") == "gpu.h200"


def test_a_message_that_is_cut_off_anywhere_is_refused(accepted):
    text = encode(accepted)
    for length in (0, 1, 4, 40, len(text) // 2, len(text) - 4, len(text) - 1):
        with pytest.raises(MessageError):
            decode(StepResult, text[:length])


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        b"bytes",
        {"ticket": 1},
        "",
        "{}",
        "ünreadable",
        "AAAA",
        squeezed(b""),
        squeezed(b"{"),
        squeezed(b"\xff\xfe\x00"),
        squeezed(b"[" * 200_000),
        squeezed(b'{"a":' * 200_000),
        squeezed(b"9" * 10_000),
        squeezed(b"NaN"),
        squeezed(b"[]"),
        squeezed(b"null"),
        squeezed(b'"text"'),
    ],
)
def test_what_is_no_message_is_refused(text):
    for cls in (StepMessage, StepResult, MeasureWork):
        with pytest.raises(MessageError):
            decode(cls, text)


def test_a_bomb_is_never_unpacked_whole():
    bomb = squeezed(b" " * (PLAIN_BYTES + 1))
    assert len(bomb) < MESSAGE_BYTES / 100
    with pytest.raises(MessageError, match="too long when unpacked"):
        decode(StepMessage, bomb)


@pytest.mark.one_in(3, "two of five bombs")
@pytest.mark.parametrize("value", ["[]", "{}", "[[[[[]]]]]", '{"a":{"a":{"a":{}}}}', "1.5"])
def test_a_bomb_of_small_values_takes_little_memory(value):
    """Each would take 64 bytes or more, where it has three in the message."""
    for times in (PLAIN_MARKS // 12, PLAIN_BYTES // (len(value) + 1) - 1):
        bomb = squeezed(b"[" + b",".join([value.encode()] * times) + b"]")
        tracemalloc.start()
        try:
            with pytest.raises(MessageError):
                decode(StepResult, bomb)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 150 * 2**20


def test_a_result_stays_far_within_the_bounds(accepted):
    for message in (accepted, left_open(accepted)):
        plain = json.dumps(to_plain(message))
        assert sum(plain.count(mark) for mark in ",[{") < PLAIN_MARKS / 20
        assert len(plain) < PLAIN_BYTES / 20


def test_bounds_hold_at_both_ends(monkeypatch):
    text = encode(check_message())
    monkeypatch.setattr(messages, "MESSAGE_BYTES", len(text))
    assert encode(check_message()) == text
    assert decode(StepMessage, text) == check_message()
    monkeypatch.setattr(messages, "MESSAGE_BYTES", len(text) - 1)
    with pytest.raises(MessageError, match=f"StepMessage has {len(text):,} bytes; the limit is {len(text) - 1:,}"):
        encode(check_message())
    with pytest.raises(MessageError, match="too long"):
        decode(StepMessage, text)
    monkeypatch.setattr(messages, "PLAIN_BYTES", 100)
    with pytest.raises(MessageError, match="the limit is 100"):
        encode(check_message())


def test_values_are_counted_at_both_ends(monkeypatch):
    text = encode(check_message())
    monkeypatch.setattr(messages, "PLAIN_MARKS", 5)
    with pytest.raises(MessageError, match="too many values"):
        encode(check_message())
    with pytest.raises(MessageError, match="too many values"):
        decode(StepMessage, text)


@pytest.mark.parametrize("version", [VERSION + 1, 0, str(VERSION), None, [1], {"x": "y" * 1000}])
def test_another_version_is_refused_and_says_whose_attempt_it_was(version):
    plain = to_plain(check_message()) | {"version": version, "more": "fields"}
    with pytest.raises(OtherVersionError) as raised:
        decode(StepMessage, packed(plain))
    assert raised.value.ticket == check_message().ticket
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize(
    "change",
    [
        {"attempt": "1"},
        {"attempt": 1.5},
        {"attempt": True},
        {"lease_seconds": "10"},
        {"check": []},
        {"check": {}},
        {"more": 1},
        {"ticket": None},
        {"ticket": {"job": 7, "kind": "cook", "token": "a token"}},
        {"ticket": {"job": 7, "kind": ["check"], "token": "a token"}},
        {"ticket": {"job": "7", "kind": "check", "token": "a token"}},
        {"ticket": {"job": 7, "kind": "check"}},
    ],
)
def test_fields_that_do_not_fit_are_refused(change):
    with pytest.raises(MessageError):
        decode(StepMessage, packed(to_plain(check_message()) | change))


def test_what_an_earlier_version_left_to_a_gpu_is_of_another_version(accepted):
    """Until version 2 the work stood unpacked in a result, beside a second copy of its report."""
    work = to_plain(left_open(accepted))
    earlier = to_plain(accepted) | {"version": 1, "report": work["report"], "measure": work}
    with pytest.raises(OtherVersionError, match="has version 1") as raised:
        decode(StepResult, packed(earlier))
    assert raised.value.ticket == accepted.ticket


def test_one_message_is_not_taken_for_another(accepted):
    with pytest.raises(MessageError):
        decode(StepMessage, encode(accepted))
    with pytest.raises(MessageError):
        decode(StepResult, encode(check_message()))


def test_whatever_is_changed_within_it_is_read_or_refused(accepted):
    """A worker that was taken over may answer anything."""
    work = left_open(accepted)
    final = replace(accepted, report=work.report, measure=None)
    for message in (final, work):
        chance = random.Random(5)
        whole = to_plain(message)
        ours = decode(type(message), packed(whole))
        refused = 0
        for _ in range(75):
            plain = json.loads(json.dumps(whole))
            _spoil(plain, chance)
            try:
                read = decode(type(message), packed(plain))
            except MessageError:
                refused += 1
            else:
                assert isinstance(read, type(message))
                assert decode(type(message), encode(read)) == read or "NaN" in json.dumps(plain)
        assert ours == message
        assert refused > 25


def _spoil(plain: Any, chance: random.Random) -> None:
    """Change one value somewhere inside."""
    while True:
        keys = list(plain) if isinstance(plain, dict) else list(range(len(plain)))
        key = chance.choice(keys)
        inner = plain[key]
        if not (isinstance(inner, (dict, list)) and inner and chance.random() < 0.9):
            break
        plain = inner
    plain[key] = chance.choice([None, True, -1, 10**30, 0.5, float("nan"), "", "\0", "x" * 1000, [], [[]], {}])
