"""`make fuzz-api`: as many requests as asked for, made up from the API's own description."""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from pathlib import Path

from tests.fuzz_api.running import fuzz, target

_EXAMPLES = 300


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz_api")
    parser.add_argument("cases", type=int, nargs="?", default=20_000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**31))
    parser.add_argument("--examples", type=int, default=_EXAMPLES)
    options = parser.parse_args(arguments)
    began, cases, seed = time.monotonic(), 0, options.seed
    with tempfile.TemporaryDirectory() as folder, target(Path(folder)) as there:
        print(f"seed {seed}: {there.url}", flush=True)
        while cases < options.cases:
            run = fuzz(there, seed, options.examples, Path(folder))
            cases += run.cases
            if not run.passed or not run.cases:
                print(run.text)
                print(f"a violation, with --seed {seed} --examples {options.examples}")
                return 1
            print(f"{cases:,} cases in {time.monotonic() - began:,.0f} s; no violation", flush=True)
            seed += 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
