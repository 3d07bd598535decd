"""Puts faults into the device's race detection, one at a time, and says which of them the short run does not find.

`python -m tests.races.faults` tries all in faults.toml, `python -m tests.races.faults 3 7` some by their place. With
`--search 2000`, what the short run does not find is tried with so many more seeds; the one that shows it is kept.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType

from tests.races.kept import keep, kept

FAULTS = Path(__file__).with_name("faults.toml")
ROOT = Path(__file__).resolve().parents[2]
# Seeds that no one has picked; the short run takes the same.
FRESH = range(1_000_000, 1_000_240)
BATCH = 40
_SEARCHED = 2_000_000
_FOUND, _NOT_FOUND = 10, 11


@dataclass(frozen=True, slots=True)
class Fault:
    """In `module`, the text `old` becomes `new`. family: of the kernels that find it; empty for any."""

    name: str
    module: str
    old: str
    new: str
    family: str = ""

    def put_into(self, text: str) -> str:
        """The module's text with the fault; raises ValueError where the text is not there once."""
        if text.count(self.old) != 1:
            raise ValueError(f"{self.module} has the text of the fault {self.name!r} {text.count(self.old)} times")
        return text.replace(self.old, self.new)

    def check(self) -> None:
        """Raise ValueError where the fault no longer fits the module."""
        spec = find_spec(self.module)
        assert spec is not None
        assert spec.origin is not None
        compile(self.put_into(Path(spec.origin).read_text()), spec.origin, "exec")


def faults() -> list[Fault]:
    """All of the list."""
    return [Fault(**each) for each in tomllib.loads(FAULTS.read_text())["fault"]]


class _Faulty(SourceFileLoader):
    def __init__(self, fault: Fault, path: str) -> None:
        super().__init__(fault.module, path)
        self._fault = fault

    def get_code(self, fullname: str) -> CodeType:
        text = self._fault.put_into(Path(self.path).read_text())
        return compile(text, self.path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    """Loads one module with its fault."""

    def __init__(self, fault: Fault) -> None:
        self._fault = fault

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: object = None) -> ModuleSpec | None:
        if fullname != self._fault.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Faulty(self._fault, spec.origin)
        return spec


def _first_difference(fault: Fault, search: int) -> tuple[str, int] | None:
    """The family and the seed of the first kernel that the device and the oracle judge differently."""
    from tests.races.families import FAMILIES  # only now: it loads the device

    for seeds in (None, FRESH, range(_SEARCHED, _SEARCHED + search)):
        for name in [fault.family] if fault.family else FAMILIES:
            mine = kept(name) if seeds is None else seeds
            for at in range(0, len(mine), BATCH):
                for each in FAMILIES[name](mine[at : at + BATCH]):
                    if each.differs:
                        return name, each.seed
    return None


def _try(fault: Fault, number: int, search: int) -> tuple[str, int] | None:
    """What `_first_difference` finds with the fault, in a process of its own."""
    options = ["--in-this-process", "--search", str(search), str(number)]
    command = [sys.executable, "-m", "tests.races.faults", *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in {_FOUND, _NOT_FOUND}:
        raise RuntimeError(f"{fault.name}:\n{done.stderr}")
    if done.returncode == _NOT_FOUND:
        return None
    name, seed = done.stdout.split()
    return name, int(seed)


def _in_this_process(fault: Fault, search: int) -> int:
    sys.meta_path.insert(0, _Finder(fault))
    found = _first_difference(fault, search)
    if found is None:
        return _NOT_FOUND
    print(*found)
    return _FOUND


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.races.faults", description=__doc__)
    parser.add_argument("numbers", type=int, nargs="*", help="places in faults.toml, from 0")
    parser.add_argument("--search", type=int, default=0, help="more seeds for what the short run does not find")
    parser.add_argument("--in-this-process", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    every = faults()
    numbers = options.numbers or range(len(every))
    if options.in_this_process:
        return _in_this_process(every[numbers[0]], options.search)
    survivors = 0
    from tests.races.families import FAMILIES

    with ThreadPoolExecutor(2) as pool:
        shown = pool.map(lambda number: _try(every[number], number, options.search), numbers)
        for number, found in zip(numbers, shown, strict=True):
            words = "NOT FOUND"
            if found is None:
                survivors += 1
            else:
                family, seed = found
                if FAMILIES[family]([seed])[0].differs:
                    print(f"Seed {seed} differs without any fault: mend that first.")
                    return 1
                if seed in range(_SEARCHED, _SEARCHED + options.search):
                    keep(family, [seed])
                words = f"found by {family}({seed})"
            print(f"{number:3} {every[number].name}: {words}", flush=True)
    print(f"{len(numbers) - survivors} of {len(numbers)} faults found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
