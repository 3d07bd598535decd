"""`make cheats`: runs what shows that each published class of cheats is withstood, and prints the table of results.

Exit code 0: no cheat succeeded; 1: one did, or a test didn't run. Also writes the table of docs/cheats.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.cheats.cases import FOLDER, Cheat
from tests.cheats.classes import PAGE, CheatClass, Result, classes, with_table

ROOT = FOLDER.parents[1]
HERE = "tests/cheats"
FAILED, PASSED, SKIPPED = "failed", "passed", "skipped"
WITH_NUMBERS = (
    "test_the_cpu_device_gives_the_verdict_of_the_table",
    "test_a_cheat_is_found_at_small_sizes_by_the_judge_of_a_gpu",
)
"""The tests of kernels, whose names end with the kernel's numbers and name in brackets."""

Outcomes = Mapping[str, Counter[str]]
"""How often a test passed, failed or was skipped: by `path::name`, or by the name of a kernel."""


def main(arguments: Sequence[str]) -> int:
    """Run the tests, with pytest's `arguments`, and print the table."""
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "results.xml"
        named = {test for each in classes() for test in each.tests if not test.startswith(HERE)}
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments, HERE, *sorted(named)]
        subprocess.run(command, cwd=ROOT, check=False)
        if not report.exists():
            return 1
        found = outcomes(ET.parse(report).getroot())
    print("\n".join(lines(found)))
    return int(any(successes(each, found) for each in classes()))


def outcomes(report: ET.Element) -> Outcomes:
    """Count the outcomes in pytest's report in JUnit's format."""
    found: dict[str, Counter[str]] = {}
    for case in report.iter("testcase"):
        name, _, parameters = case.attrib["name"].partition("[")
        path = case.attrib["classname"].replace(".", "/") + ".py"
        keys_of = [f"{path}::{name}", f"{path}::{case.attrib['name']}"]
        if name in WITH_NUMBERS:
            keys_of = [parameters.rstrip("]").partition("-")[2]]
        kinds = {child.tag for child in case}
        outcome = FAILED if kinds & {"failure", "error"} else SKIPPED if "skipped" in kinds else PASSED
        for key in dict.fromkeys(keys_of):
            found.setdefault(key, Counter())[outcome] += 1
    return found


def successes(each: CheatClass, found: Outcomes) -> int:
    """How many of the class's tests failed or are missing. Each may be a cheat that succeeded."""
    shown = [found.get(key, Counter()) for key in keys(each)]
    return sum(of[FAILED] if of else 1 for of in shown)


def keys(each: CheatClass) -> list[str]:
    return [*(cheat.name for cheat in each.kernels), *each.tests]


def lines(found: Outcomes) -> Iterator[str]:
    """The table, what only a GPU shows, and the sum."""
    yield ""
    yield "    result        tests  successes  class"
    for each in classes():
        passed = sum(found.get(key, Counter())[PASSED] for key in keys(each))
        count = str(passed) if each.result is not Result.CANNOT_APPLY else "-"
        yield f"{each.number:>2}  {each.result:<12} {count:>6} {successes(each, found):>10}  {each.name}"
    on_gpu = sorted(cheat.name for cheat in _kernels() if cheat.needs_gpu)
    yield f"\nOnly a GPU shows {len(on_gpu)} of {len(_kernels())} kernels (`make test-gpu`): {', '.join(on_gpu)}"
    results = Counter(each.result for each in classes())
    yield ", ".join(f"{result.value}: {results[result]}" for result in Result)
    yield f"successes: {sum(successes(each, found) for each in classes())}"


def _kernels() -> set[Cheat]:
    return {cheat for each in classes() for cheat in each.kernels}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
