"""The corpus, judged by the GPU alone, compared with the CPU device's verdicts: what a GPU cannot see."""

from __future__ import annotations

from collections import Counter

from bench.gpu.gpu_verdicts import Outcome, judge_alone
from bench.gpu.machine import measured_by
from bench.gpu.section import Data, Run, table
from bench.gpu.subjects import corpus
from kernels.wording import plural

_TEXT = """\
The GPU alone judges every kernel of `tests/corpus`, correct or not. The sizes are the exercise's and the ranking size.
The GPU's judge uses guard zones, poison and exact inputs. The table compares its verdicts with the CPU device's, which
the tests enforce. A grade needs both devices: either one can fail a kernel."""


def run(section: Run) -> None:
    """Judge the whole corpus, in its order."""
    subjects = corpus()[: section.options.get("corpus")]
    data: Data = {"kernels": len(subjects), "rows": []}

    def told(outcome: Outcome) -> None:
        with section.lock:
            data["rows"].append(
                {
                    "name": outcome.subject.name,
                    "cpu": outcome.subject.expected,
                    "gpu": outcome.verdict,
                    "reached": outcome.reached,
                    "message": outcome.message,
                }
            )
            if len(data["rows"]) % 20 == 0:
                section.say(f"{len(data['rows'])} of {len(subjects)}")
                section.keep(_text(data), data, done=False)

    with section.machine.spares(3) as spares:
        judge_alone(section.machine, subjects, measured_by(spares), told)
    section.keep(_text(data), data)


def _text(data: Data) -> list[str]:
    rows = sorted(data["rows"], key=lambda row: row["name"])
    ran = [row for row in rows if row["reached"]]
    verdicts = sorted({row["cpu"] for row in ran})
    head = ["CPU device", "kernels", "GPU: the same", "GPU: another verdict", "GPU: accepted"]
    cells = [[verdict, *_counts([row for row in ran if row["cpu"] == verdict])] for verdict in verdicts]
    cells.append(["**all**", *_counts(ran)])
    alone = [row for row in ran if row["cpu"] != "accepted" and row["gpu"] == "accepted"]
    refused = [row for row in ran if row["cpu"] == "accepted" and row["gpu"] != "accepted"]
    lines = [_TEXT, "", *table(head, cells), ""]
    lines.append(
        f"{plural(len(rows) - len(ran), 'kernel')} can't reach a device, because of a rejection or a compile error."
        f" **The GPU alone would accept {plural(len(alone), 'incorrect kernel')}**{_sorted_by_kind(alone)}."
        f" It fails {plural(len(refused), 'correct kernel')}."
    )
    if alone:
        lines += ["", "Accepted by the GPU alone:", ""]
        lines += table(["kernel", "mistake"], [[f"`{row['name']}`", row["cpu"]] for row in alone])
    if refused:
        lines += ["", "Correct kernels that the GPU fails:", ""]
        said = [[f"`{row['name']}`", f"{row['gpu']}: `{row['message']}`"] for row in refused]
        lines += table(["kernel", "verdict and message of the GPU"], said)
    return lines


def _counts(rows: list[Data]) -> list[int]:
    same = sum(row["cpu"] == row["gpu"] for row in rows)
    accepted = sum(row["gpu"] == "accepted" for row in rows)
    other = sum(row["gpu"] not in {row["cpu"], "accepted"} for row in rows)
    return [len(rows), same, other, accepted]


def _sorted_by_kind(rows: list[Data]) -> str:
    kinds = Counter(row["cpu"] for row in rows)
    return f" ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})" if kinds else ""
