"""`make rights`: random acts of staff, students and strangers; nobody may get what they have no right to."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from argon2 import PasswordHasher

from server.accounts import service
from server.database.engine import connect
from server.database.schema import upgrade
from tests.rights.walk import ACTS_OF_A_WORLD, Walk, walk

_PROGRESS_SECONDS = 20.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.rights")
    parser.add_argument("acts", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    options = parser.parse_args(arguments)
    vars(service)["_HASHER"] = PasswordHasher(time_cost=1, memory_cost=1024, parallelism=1)
    began = told = time.monotonic()
    done, seed = Walk(), options.seed
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template.db"
        engine = connect(f"sqlite:///{template}")
        upgrade(engine)
        engine.dispose()
        while done.acts < options.acts and not done.wrongs:
            walk(template, seed, min(ACTS_OF_A_WORLD, options.acts - done.acts), done)
            seed += 1
            if time.monotonic() - told > _PROGRESS_SECONDS:
                told = time.monotonic()
                print(f"{done.acts:,} acts in {told - began:,.0f} s", flush=True)
    for wrong in done.wrongs:
        print(wrong)
    for act in sorted(done.accepted.keys() | done.refused.keys()):
        print(f"  {act:<20} {done.accepted[act]:7,} accepted {done.refused[act]:7,} refused")
    seconds = time.monotonic() - began
    print(
        f"seed {options.seed}: {done.acts:,} acts and {done.reads:,} reads in {seconds:,.0f} s; "
        f"{len(done.wrongs):,} wrong"
    )
    return 1 if done.wrongs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
