"""The incorrect and the further correct kernels of an exercise, and the verdict that each must get.

Incorrect kernels are the files `wrong/NAME.cu` of the exercise's folder, and `wrong.toml` has a table for each. They
show that the exercise's cases expose the usual mistakes. The files `right/NAME.cu` show that no case accuses a correct
kernel. Verdicts of submissions don't depend on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kernels.exercise.model import Exercise
from kernels.exercise.table import ExerciseError, Table
from kernels.toml_text import read_toml
from kernels.verdict import Finding, Severity, Verdict

TABLE, FOLDER, RIGHT_FOLDER = "wrong.toml", "wrong", "right"


@dataclass(frozen=True, slots=True)
class WrongKernel:
    """A kernel with a known mistake.

    verdicts: any of these is expected
    line: of a finding of its verdict, its own or the other one; None for any
    """

    name: str
    file: Path
    verdicts: tuple[Verdict, ...]
    line: int | None
    why: str

    def shown_by(self, verdict: Verdict, findings: tuple[Finding, ...]) -> bool:
        """Whether a report has such a verdict, and points at the mistake."""
        if verdict not in self.verdicts:
            return False
        leading = [finding for finding in findings if finding.kind is verdict and finding.severity is Severity.ERROR]
        return self.line is None or any(self.line in {each.line, each.other_line} for each in leading)


def wrong_kernels(exercise: Exercise) -> tuple[WrongKernel, ...]:
    """The incorrect kernels in the exercise's folder, in the order of its table; none without a table.

    raise (ExerciseError): a table or a file is missing or malformed
    """
    path = exercise.root / TABLE
    files = {file.stem: file for file in sorted((exercise.root / FOLDER).glob("*.cu"))}
    return read_wrong_kernels(path.read_bytes() if path.is_file() else None, files, path)


def right_kernels(exercise: Exercise) -> tuple[str, ...]:
    """The further correct kernels, as paths in the exercise's folder."""
    return tuple(f"{RIGHT_FOLDER}/{file.name}" for file in sorted((exercise.root / RIGHT_FOLDER).glob("*.cu")))


def read_wrong_kernels(text: bytes | None, files: Mapping[str, Path], path: Path) -> tuple[WrongKernel, ...]:
    """The incorrect kernels of a table, in its order.

    text: of the table; None for no table
    files: by the kernel's name
    path: of the table, for messages

    raise (ExerciseError): as `wrong_kernels`
    """
    if text is None:
        if files:
            raise ExerciseError(path, "", "this file is missing, but there are incorrect kernels")
        return ()
    try:
        data = read_toml(text.decode())
    except ValueError as error:
        raise ExerciseError(path, "", f"this is not TOML: {error}") from None
    table = Table(path, "", data)
    named = table.fields()
    for name in sorted(files.keys() - set(named)):
        raise ExerciseError(path, name, f"{FOLDER}/{name}.cu has no table")
    return tuple(_wrong_kernel(table.table(name), name, files) for name in named)


def _wrong_kernel(table: Table, name: str, files: Mapping[str, Path]) -> WrongKernel:
    table.only("verdict", "line", "why")
    if name not in files:
        raise table.error("verdict", f"there is no file {FOLDER}/{name}.cu")
    verdicts = table.one_or_more("verdict", Verdict)
    if not {Verdict.ACCEPTED, Verdict.SYSTEM_ERROR}.isdisjoint(verdicts):
        raise table.error("verdict", "an incorrect kernel isn't accepted")
    return WrongKernel(name, files[name], verdicts, table.integer_or_none("line"), table.text("why"))
