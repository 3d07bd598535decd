"""A workplace for tests of the whole way: finds every source right, unless it says what it is."""

from __future__ import annotations

import base64
import time
from pathlib import Path

from kernels.exercise import find_exercise
from kernels.judging.plan import make_plan
from kernels.report import Report
from kernels.verdict import Verdict
from tests.server.course import DIGEST, measured
from tests.worker.queue.workplaces import Patient
from worker.contract.measure_work import MeasureRequest
from worker.contract.messages import CheckWork, MeasureWork, StepKind, StepMessage, StepResult, decode, pack_work
from worker.workplaces.workplace import ABORTED, Progress


class Checks(Patient):
    """`// wait PATH` ends when that file is there, `// VERDICT` is what the source ends in."""

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert message.check is not None
        work = message.check
        verb, _, rest = base64.b64decode(work.source).decode().removeprefix("// ").partition(" ")
        while verb == "wait" and not Path(rest.strip()).exists():
            if self._aborted:
                return StepResult(message.ticket, worker, None, fault=ABORTED)
            time.sleep(0.01)
        report = self._report(work, Verdict(verb) if verb in set(Verdict) else Verdict.ACCEPTED)
        if work.device_class and report.verdict is Verdict.ACCEPTED:
            plan = make_plan(find_exercise(work.exercise.name), None, work.tile, work.seed)
            request = MeasureRequest(plan, (), None, (), "gflops")
            measure = pack_work(MeasureWork(request, report, (DIGEST,), compared=True))
            return StepResult(message.ticket, worker, None, measure, seconds=0.1)
        return StepResult(message.ticket, worker, report, seconds=0.1)

    def _report(self, work: CheckWork, verdict: Verdict) -> Report:
        return Report(verdict, "So it is.", work.exercise.name, "cpu", work.arch, 16, seed=work.seed)


class Measures(Patient):
    """Everything runs at 5,000 GFLOPS."""

    kind = StepKind.MEASURE

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        assert message.measure is not None
        checked = decode(MeasureWork, message.measure).report
        report = Report(
            checked.verdict, checked.message, checked.exercise, "h200", checked.arch, checked.tile, seed=checked.seed,
            measurement=measured(5_000.0),
        )  # fmt: skip
        return StepResult(message.ticket, worker, report, seconds=0.1, busy_ms=50.0)
