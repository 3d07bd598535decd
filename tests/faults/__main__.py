"""`make faults`: hand in hundreds of kernels while every part dies again and again, and count what is lost."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tests.faults.campaign import Plan, run
from tests.faults.embedded import Embedded
from tests.faults.house import STAND_IN, House
from tests.faults.parts import Numbers, parts
from tests.faults.spells import run_spells
from tests.faults.target import Target
from tests.faults.text import text_of

_CONTROL_SECONDS = 120.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--submissions", type=int, default=500)
    parser.add_argument("--faults", type=int, default=300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--seconds", type=float, default=0.0, help="over which faults are spread; 0: by their number")
    parser.add_argument("--embedded", action="store_true", help="strike `tilelab up` with SQLite, and no PostgreSQL")
    parser.add_argument("--control", action="store_true", help="publish after commit instead, and lose some")
    usual = Numbers()
    parser.add_argument("--web-processes", type=int, default=usual.web_processes, help="that answer requests")
    parser.add_argument("--dispatchers", type=int, default=usual.dispatchers)
    parser.add_argument("--recorders", type=int, default=usual.recorders)
    parser.add_argument("--canned", action="store_true", help="workers that only say what the source says")
    parser.add_argument("--busy", action="store_true", help="other programs keep this machine busy: accept delays")
    parser.add_argument("--only", default="", help="faults whose names contain this")
    parser.add_argument("--spells", action="store_true", help="long ones instead, once each, under a light load")
    parser.add_argument("--keep", type=Path, help="folder for logs and database, kept")
    options = parser.parse_args()
    seconds = options.seconds or 2.5 * options.faults
    plan = Plan(
        options.submissions, options.faults, options.seed, seconds,
        only=options.only, canned=options.canned, in_time=not options.busy,
    )  # fmt: skip
    if options.control:
        # what it has lost never comes back, however long one waits
        plan = replace(plan, drain_seconds=_CONTROL_SECONDS)
    print(f"seed {plan.seed}: {plan.submissions} submissions, {plan.faults} faults, {plan.seconds:.0f} s", flush=True)
    begun = time.monotonic()

    def say(line: str) -> None:
        print(line, flush=True)

    with tempfile.TemporaryDirectory(prefix="tilelab-faults-") as own:
        folder = options.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        with _target(folder, plan, options) as target:
            if not target.disk_is_small:
                print("no disk can be mounted here, so none is filled")
            if options.spells:
                return 0 if run_spells(target, say) else 1
            outcome = run(target, plan, say)
    print(text_of(outcome))
    print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if outcome.good else 1


@contextmanager
def _target(folder: Path, plan: Plan, options: argparse.Namespace) -> Iterator[Target]:
    if options.embedded:
        with Embedded(folder, students=plan.students) as embedded:
            yield embedded
    else:
        device_class = "" if options.canned else STAND_IN
        with House(folder, students=plan.students, device_class=device_class) as house:
            numbers = Numbers(options.web_processes, options.dispatchers, options.recorders)
            house.start(parts(house, numbers, control=options.control, canned=options.canned))
            yield house


if __name__ == "__main__":
    sys.exit(main())
