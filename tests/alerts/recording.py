"""The recorded scrapes, a line for each series and a column for each phase, and what promtool makes of them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.alerts.failures import PHASES, Samples
from tests.alerts.promtool import promtool

FILE = Path(__file__).with_name("recorded.txt")
RULES = Path(__file__).resolve().parents[2] / "docs" / "alerts.yml"
HEADER = f"# Written by `python -m tests.alerts`. Before each series are its values {', '.join(PHASES)}; - is none.\n"

Recording = Mapping[str, tuple[Samples | None, ...]]
Expected = Mapping[str, Mapping[int, Sequence[Mapping[str, str]]]]
"""The labels of the alerts that fire, by failure and minute."""

_LASTS = 65
"""Minutes that a phase lasts for Prometheus, with each value as it was scraped."""
MINUTES = {phase: number * _LASTS + _LASTS - 1 for number, phase in enumerate(PHASES)}
"""The last minute of each phase."""


def as_text(recording: Recording) -> str:
    lines = [HEADER]
    for name, phases in recording.items():
        lines.append(f"\n== {name}\n")
        for series, values in _columns(phases).items():
            lines.append(" ".join(["-" if value is None else f"{value:.12g}" for value in values]) + f" {series}\n")
    return "".join(lines)


def _columns(phases: tuple[Samples | None, ...]) -> dict[str, list[float | None]]:
    """With `up`, as Prometheus adds it."""
    every = {series: None for phase in phases for series in phase or ()}
    columns = {series: [(phase or {}).get(series) for phase in phases] for series in every}
    return {"up": [float(phase is not None) for phase in phases], **columns}


def read(text: str) -> dict[str, dict[str, list[str]]]:
    """By failure and series: the values, one a phase."""
    found: dict[str, dict[str, list[str]]] = {}
    for line in text.splitlines():
        if line.startswith("== "):
            series = found.setdefault(line.removeprefix("== "), {})
        elif line and line[0] != "#":
            *values, name = line.split(" ", len(PHASES))
            series[name] = values
    return found


def evaluated(text: str, expected: Expected, folder: Path) -> str:
    """What promtool finds wrong: the alerts that fire must be these, by failure and minute. Raises NoPromtool."""
    rules = RULES.read_text()  # promtool takes seconds for series that no rule asks for
    tests = [
        {
            "name": name,
            "interval": "1m",
            "input_series": [
                {"series": _series(series), "values": _values(values)}
                for series, values in columns.items()
                if series.partition("{")[0] in rules
            ],
            "promql_expr_test": [
                {
                    "expr": 'count by (alertname, queue, process, why) (ALERTS{alertstate="firing"})',
                    "eval_time": f"{minute}m",
                    "exp_samples": [{"labels": _labels(labels), "value": 1} for labels in alerts],
                }
                for minute, alerts in expected[name].items()
            ],
        }
        for name, columns in read(text).items()
    ]
    file = folder / "test.yml"  # JSON is YAML
    file.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": tests}))
    done = subprocess.run([promtool(), "test", "rules", file], capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _series(name: str) -> str:
    """With the labels that Prometheus adds."""
    target = 'job="tilelab",instance="portal"'
    return re.sub(r"\{(.*)\}$", rf"{{\1,{target}}}", name) if name.endswith("}") else f"{name}{{{target}}}"


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels.items()) + "}"


def _values(phases: list[str]) -> str:
    """A series that a scrape no longer has is stale at once."""
    return " ".join(f"stale _x{_LASTS - 2}" if value == "-" else f"{value}+0x{_LASTS - 1}" for value in phases)
