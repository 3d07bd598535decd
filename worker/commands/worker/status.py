from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from kernels.rendering.text_safety import safe, width
from kernels.rendering.text_style import Style
from kernels.wire import to_plain
from worker.commands.root import Exit, leave
from worker.commands.worker.broker import SILENT_SECONDS, open_fleet, redis_option
from worker.contract.fleet import SlotRecord, WorkerRecord, WorkerState

if TYPE_CHECKING:
    from worker.contract.redis_fleet import RedisFleet

_AGAIN_SECONDS = 2.0
_CLEAR = "\033[H\033[J"


@click.command(epilog="Exit code: 0 done, 2 wrong use, 3 can't reach the broker.")
@click.option("--watch", is_flag=True, help="Refresh every 2 s until Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (with --watch, one per line).")
@redis_option
def status(watch: bool, as_json: bool, redis: str | None) -> None:
    """Show all workers of the last hour: devices, jobs, failures and last heartbeat.

    \b
    Examples:
      tilelab worker status
      tilelab worker status --watch --redis redis://broker:6379/0
    """
    with open_fleet(redis) as fleet:
        _show(fleet, as_json=as_json, clear="")
        while watch:
            time.sleep(_AGAIN_SECONDS)
            _show(fleet, as_json=as_json, clear=_CLEAR if sys.stdout.isatty() else "\n")
    leave(Exit.ACCEPTED)


def _show(fleet: RedisFleet, *, as_json: bool, clear: str) -> None:
    records, now = fleet.workers(), fleet.now()
    if as_json:
        click.echo(json.dumps(fleet_json(records, now, SILENT_SECONDS), ensure_ascii=True))
        return
    from worker.commands.terminal import style_of

    click.echo(f"{clear}{fleet_text(records, now, SILENT_SECONDS, style_of(sys.stdout))}")


SILENT = "silent"

_HEAD = ("worker", "host", "slot", "device", "state", "job", "done", "failed", "last heartbeat", "versions")
_BAD, _CAREFUL, _GOOD = "31", "33", "32"
_COLOURS = {
    SILENT: _BAD, "out": _BAD, "draining": _CAREFUL, "drained": _CAREFUL, "stopping": _CAREFUL, "busy": _GOOD,
}  # fmt: skip
_SHORT = ("tilelab", "messages", "driver")


def fleet_text(records: Sequence[WorkerRecord], now: float, silent_seconds: float, style: Style) -> str:
    """A table with a row for each slot, and notes below. now: by the heartbeats' clock."""
    if not records:
        return "No worker has reported in the last hour. Start one with `tilelab worker start`."
    rows: list[tuple[str, ...]] = [_HEAD]
    notes = []
    for record in sorted(records, key=lambda record: (record.host, record.started, record.id)):
        silent = now - record.beat > silent_seconds
        rows += _rows(record, now, silent=silent)
        if silent:
            notes.append(
                f"{record.id} is silent. It may have ended or lost its connection."
                " Its steps run again on other workers."
            )
        if record.reason:
            notes.append(f"{record.id}: {record.reason}")
    widths = [max(width(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = [_line(row, widths, style) for row in rows]
    return "\n".join([*lines, *(["", *map(safe, notes)] if notes else [])])


def fleet_json(records: Sequence[WorkerRecord], now: float, silent_seconds: float) -> dict[str, Any]:
    return {
        "now": now,
        "workers": [
            {
                **to_plain(record), "done": record.done, "failed": record.failed,
                "silent": now - record.beat > silent_seconds,
            }
            for record in records
        ],
    }  # fmt: skip


def _rows(record: WorkerRecord, now: float, *, silent: bool) -> Iterator[tuple[str, ...]]:
    versions = " ".join(f"{name} {record.versions[name]}" for name in _SHORT if name in record.versions)
    beat = f"{max(0.0, now - record.beat):.0f} s ago"
    for number, slot in enumerate(record.slots):
        state, job = (SILENT, "") if silent else (_state(record, slot), _job(slot, now))
        whose = (record.id, record.host) if number == 0 else ("", "")
        rest = (beat, versions) if number == 0 else ("", "")
        counts = (str(slot.done), str(slot.failed))
        yield tuple(map(safe, (*whose, slot.name, slot.device, state, job, *counts, *rest)))


def _state(record: WorkerRecord, slot: SlotRecord) -> str:
    """The slot's state, unless the worker's says more. A busy slot of a draining worker stays busy."""
    own = record.state in {WorkerState.STARTING, WorkerState.IDLE, WorkerState.BUSY}
    return (slot.state if own or slot.state is WorkerState.BUSY else record.state).value


def _job(slot: SlotRecord, now: float) -> str:
    return "" if slot.job is None else f"{slot.job} {slot.step}, {max(0.0, now - slot.since):.0f} s"


def _line(row: tuple[str, ...], widths: Sequence[int], style: Style) -> str:
    cells = []
    for column, (cell, columns) in enumerate(zip(row, widths, strict=True)):
        padded = cell + " " * (columns - width(cell))
        cells.append(style.paint(padded, _COLOURS.get(cell, "")) if _HEAD[column] == "state" else padded)
    return "  ".join(cells).rstrip()
