"""`make golden`: write down what users can see of the server, and compare two such records."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.golden.commands import recorded_examples, verbs
from tests.golden.compare import differences, write
from tests.golden.routes import recorded_routes
from tests.golden.world import Copies, PostgresCopies, SqliteCopies, world
from tests.services.postgres_server import PostgresServer


def record(folder: Path, kind: str) -> None:
    """Write the whole record into a folder, which is emptied first."""
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="golden-record-") as scratch, _copies(kind, Path(scratch)) as copies:
        for name, full in (("roles", False), ("full", True)):
            with world(copies(), full=full) as found:
                for path, by_role in recorded_routes(found):
                    write(folder / name, path, by_role)
                for call, shown in recorded_examples(found, Path(scratch)):
                    write(folder / f"{name}-commands", call, shown)
    for verb, said in verbs():
        write(folder / "help", f"tilelab {verb}".strip(), {"help": said})


@contextmanager
def _copies(kind: str, folder: Path) -> Iterator[Callable[[], Copies]]:
    if kind == "sqlite":
        yield lambda: SqliteCopies(Path(tempfile.mkdtemp(dir=folder)))
        return
    with PostgresServer(folder / "postgres", autovacuum="off") as postgres:
        folder.chmod(0o755)
        yield lambda: PostgresCopies(postgres)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.golden")
    parts = parser.add_subparsers(dest="verb", required=True)
    recording = parts.add_parser("record", help="write a record of this tree")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    comparing = parts.add_parser("compare", help="print the differences of two records; exit code 1 if there are any")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    options = parser.parse_args(arguments)
    if options.verb == "record":
        began = time.monotonic()
        record(options.folder, options.database)
        print(f"{sum(1 for _ in options.folder.rglob('*.json')):,} files in {time.monotonic() - began:,.0f} s")
        return 0
    found = list(differences(options.old, options.new))
    print("\n".join(found) or "No differences.")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
