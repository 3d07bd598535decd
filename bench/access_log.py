"""Measure what a line of the access log costs: `python -m bench.access_log`."""

from __future__ import annotations

import os
from time import process_time
from timeit import repeat
from types import SimpleNamespace

from server.settings import AccessLogField
from server.web.access_log import AccessLog, Lines, access_logger

_LINES = 20_000


def main() -> None:
    """Write lines to a file that keeps nothing, without and with a person and an address."""
    answer = SimpleNamespace(status_code=200, headers_sent=True, sent=15_000)
    environ = {"tilelab.route": "/course/<slug>", "HTTP_COOKIE": "tilelab=" + "a" * 43, "REMOTE_ADDR": "192.0.2.1"}
    with open(os.devnull, "w") as nothing:  # noqa: PTH123 - a device
        for fields in ({AccessLogField.REQUEST}, set(AccessLogField)):
            log = AccessLog(frozenset(fields), {"a" * 43: 7}.get, access_logger(nothing))

            def line(log: AccessLog = log) -> None:
                with log.begun():
                    log.ended("GET", environ, answer)

            seconds = min(repeat(line, timer=process_time, number=_LINES, repeat=5)) / _LINES
            for each in log.logger.handlers:
                assert isinstance(each, Lines)
                each.queue.join()
            print(f"{', '.join(sorted(fields))}: {seconds * 1e6:.0f} µs")


if __name__ == "__main__":
    main()
