"""A supervisor to be watched from outside, and killed: python -m tests.worker.fleet.supervising JSON.

JSON: a list of parts, each a table of fields of worker.supervision.parts.Part; `ready` is a file that has to be there,
`silent` how many seconds without a beat are too many.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from worker.supervision.output import PartOutput
from worker.supervision.parts import Part
from worker.supervision.pulse import Pulse
from worker.supervision.supervisor import Supervisor


def main() -> None:
    output = PartOutput(sys.stdout)
    supervisor = Supervisor(output.line, output.event, lambda: output.say("stopping"))
    for table in json.loads(sys.argv[1]):
        supervisor.add(part(output, **table))
    failure = supervisor.run()
    output.say(f"over: {failure}")


def part(output: PartOutput, *, ready: str = "", silent: float = 0.0, **table: Any) -> Part:
    for field in ("command", "after"):
        table[field] = tuple(table.get(field, ()))
    table["critical"] = frozenset(table.get("critical", ()))
    return Part(
        ready=(lambda: Path(ready).exists()) if ready else None,
        pulse=Pulse(silent) if silent else None,
        told=lambda line: output.say(f"told {line}"),
        **table,
    )


if __name__ == "__main__":
    main()
