"""The corpus judged by the GPU alone, beside the verdict that the CPU device gives: what a GPU cannot see."""

from __future__ import annotations

from collections import Counter

from bench.gpu.alone import Outcome, judge_alone
from bench.gpu.section import Data, Run, table
from bench.gpu.subjects import corpus

_TEXT = """\
Every kernel of `tests/corpus`, wrong and right, judged by the GPU alone: its guard zones, poison and exact inputs, at
every size of the exercise and at the ranking size. Beside it stands the verdict of the CPU device, which the tests hold
it to. A grade needs both: what only one of them finds wrong is wrong."""


def run(section: Run) -> None:
    """All of it, in the order of the corpus."""
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
        judge_alone(section.machine, subjects, spares, told)
    section.keep(_text(data), data)


def _text(data: Data) -> list[str]:
    rows = sorted(data["rows"], key=lambda row: row["name"])
    ran = [row for row in rows if row["reached"]]
    verdicts = sorted({row["cpu"] for row in ran})
    head = ["the CPU device says", "kernels", "the GPU the same", "the GPU something else", "the GPU accepts"]
    cells = [[verdict, *_counts([row for row in ran if row["cpu"] == verdict])] for verdict in verdicts]
    cells.append(["**all**", *_counts(ran)])
    alone = [row for row in ran if row["cpu"] != "accepted" and row["gpu"] == "accepted"]
    refused = [row for row in ran if row["cpu"] == "accepted" and row["gpu"] != "accepted"]
    lines = [_TEXT, "", *table(head, cells), ""]
    lines.append(
        f"{len(rows) - len(ran)} kernels never reach a device: they are refused, or do not compile."
        f" **{len(alone)} wrong kernels would have been accepted by the GPU alone**"
        f"{_sorted_by_kind(alone)}. {len(refused)} right kernels are refused by the GPU."
    )
    if alone:
        lines += ["", "Accepted by the GPU alone:", ""]
        lines += table(
            ["kernel", "what is wrong with it"], [[f"`{row['name']}`", row["cpu"]] for row in alone]
        )
    if refused:
        lines += ["", "Right, and refused by the GPU:", ""]
        said = [[f"`{row['name']}`", f"{row['gpu']}: {row['message']}"] for row in refused]
        lines += table(["kernel", "the GPU says"], said)
    return lines


def _counts(rows: list[Data]) -> list[int]:
    same = sum(row["cpu"] == row["gpu"] for row in rows)
    accepted = sum(row["gpu"] == "accepted" for row in rows)
    other = sum(row["gpu"] not in {row["cpu"], "accepted"} for row in rows)
    return [len(rows), same, other, accepted]


def _sorted_by_kind(rows: list[Data]) -> str:
    kinds = Counter(row["cpu"] for row in rows)
    return f" ({', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})" if kinds else ""
