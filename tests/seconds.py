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
    """Keep with a test's last report what was used since the one of the test before it."""
    report = yield
    if call.when != "teardown" or not item.config.getoption("seconds"):
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
        row[0] += 1
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
    ticks, left = 0, [str(os.getpid())]
    while left:
        process = left.pop()
        with suppress(OSError):
            # user and system time, of itself and of children that ended
            ticks += sum(map(int, _read(f"/proc/{process}/stat").rpartition(")")[2].split()[11:15]))
            for thread in os.listdir(f"/proc/{process}/task"):  # noqa: PTH208
                left += _read(f"/proc/{process}/task/{thread}/children").split()
    return ticks / os.sysconf("SC_CLK_TCK"), time.monotonic()


def _read(file: str) -> str:
    with open(file) as opened:  # noqa: PTH123 - a test may replace Path.open
        return opened.read()
