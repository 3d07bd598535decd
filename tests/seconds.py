"""`--seconds` prints what the tests of each folder took: how many they are, processor seconds and clock seconds.

Processor seconds include those of child processes. They say more than a clock does on a busy machine. Linux only.
"""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

import pytest

_spent = pytest.StashKey[tuple[float, float]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seconds", action="store_true", help="print the seconds of each folder of tests")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Keep with each report what was used since the one before it."""
    report = yield
    if not item.config.getoption("seconds"):
        return report
    now = _now()
    before = item.config.stash.get(_spent, now)
    report.seconds = (now[0] - before[0], now[1] - before[1])
    item.config.stash[_spent] = now
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    if session.config.getoption("seconds"):
        session.config.stash[_spent] = _now()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if not config.getoption("seconds"):
        return
    reports = [each for kind in terminalreporter.stats.values() for each in kind if hasattr(each, "seconds")]
    found: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
    for report in reports:
        row = found[str(PurePosixPath(report.nodeid.split("::")[0]).parent)]
        row[0] += report.when == "call"
        row[1] += report.seconds[0]
        row[2] += report.seconds[1]
    terminalreporter.section("seconds by folder")
    print_row = terminalreporter.write_line
    print_row("tests  processor    clock  folder")
    found["all"] = [sum(column) for column in zip(*found.values(), strict=True)] or [0, 0.0, 0.0]
    for folder, (tests, processor, clock) in sorted(found.items(), key=lambda row: -row[1][1]):
        print_row(f"{tests:5.0f} {processor:10.1f} {clock:8.1f}  {folder}")


def _now() -> tuple[float, float]:
    """Processor seconds of this process and all that it started, and the clock."""
    spent, children = {}, defaultdict(list)
    for number in map(int, filter(str.isdigit, os.listdir("/proc"))):  # noqa: PTH208
        with suppress(OSError), open(f"/proc/{number}/stat") as file:  # noqa: PTH123 - a test may replace Path.open
            fields = file.read().rpartition(")")[2].split()
            # user and system time, of itself and of children that ended
            spent[number] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            children[int(fields[1])].append(number)
    total, left = 0.0, [os.getpid()]
    while left:
        number = left.pop()
        total += spent.get(number, 0.0)
        left += children[number]
    return total, time.monotonic()
