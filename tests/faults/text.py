"""A campaign's outcome, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults.campaign import Outcome

_SHOWN = 20


def text_of(outcome: Outcome) -> str:
    """Everything that was counted, and what does not hold."""
    return "\n".join(_lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    found = outcome.account
    yield f"faults          {outcome.faults.total()}: {_counts(outcome.faults)}"
    for name, seconds in sorted(outcome.recovered.items()):
        yield f"after {name}: accepted again within {max(seconds):.1f} s, {len(seconds)} times"
    yield f"accepted        {found.accepted} submissions, in {outcome.tries} requests"
    yield f"one verdict     {found.done}: {_counts(found.verdicts)}"
    yield f"without         {len(found.lost)}"
    yield f"wrong verdict   {len(found.wrong)}"
    yield f"system errors   {found.system_errors}"
    yield f"attempts        {found.attempts.total()}: {_counts(found.attempts)}"
    yield f"orphans         {len(outcome.orphans)}"
    yield f"seconds         {outcome.seconds:.0f}, of which {outcome.drained:.0f} after the last fault"
    for name, texts in (
        ("LOST", found.lost), ("WRONG", found.wrong), ("BROKEN", found.broken), ("ORPHAN", outcome.orphans)
    ):  # fmt: skip
        for text in texts[:_SHOWN]:
            yield f"{name}: {text}"
    yield "nothing was lost" if outcome.good else "NOT AS IT MUST BE"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))
