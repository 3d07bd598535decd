"""Provoke each failure that an alert is for, and record what Prometheus reads of it in recorded.txt."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.alerts.failures import record
from tests.alerts.recording import FILE, as_text


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tilelab-alerts-") as folder:
        FILE.write_text(as_text(record(Path(folder), lambda name: print(name, flush=True))))


if __name__ == "__main__":
    main()
