"""The workplace for check steps: compiles, judges and counts on this machine's CPU."""

from __future__ import annotations

import base64
import binascii
import logging
import re
import threading
from dataclasses import replace
from pathlib import Path

from kernels.exercise import Exercise, read_exercise
from kernels.exercise.trial import Trial, TrialError, check_trial
from kernels.report import Report, message_for
from kernels.verdict import Finding, Verdict, decide, finding_order
from worker.contract.architectures import ARCHES
from worker.contract.messages import CheckWork, MeasureWork, MessageError, StepKind, StepMessage, StepResult, pack_work
from worker.steps.cpu_check import Checked, Job, Progress, check_and_count
from worker.steps.stages import SandboxedStages
from worker.workplaces.workplace import ABORTED, Done, StepFault, carried_out

logger = logging.getLogger(__name__)

_SEED = re.compile(r"[0-9a-f]{1,32}")


class CpuWorkplace:
    """Checks submissions one by one. The next one's processes start during the current check.

    One thread must call `prepare`, `do` and `close`; the processes die with it.

    cpu_seconds: by step, of ended processes
    """

    kind = StepKind.CHECK

    def __init__(self, cache: Path) -> None:
        """Start nothing yet."""
        self.cpu_seconds: dict[str, float] = {}
        self._cache = cache
        self._ahead: SandboxedStages | None = None
        self._at_work: SandboxedStages | None = None
        self._changing = threading.Lock()

    def prepare(self) -> None:
        """Start the next step's processes. If that fails, the step tries again and reports it."""
        try:
            if self._ahead is not None and not self._ahead.alive():
                self._ahead.close()
                self._ahead = None
            self._ahead = self._ahead or SandboxedStages()
        except Exception as error:  # noqa: BLE001 - the step that needs them reports more
            logger.warning("cannot prepare the next check: %s", error)

    def do(self, message: StepMessage, worker: str, progress: Progress) -> StepResult:
        """Compile, judge and count. The result may contain work for a GPU."""
        return carried_out(message, worker, lambda: self._check(message, progress))

    def abort(self) -> None:
        with self._changing:
            if self._at_work is not None:
                self._at_work.abort()

    def close(self) -> None:
        self.abort()
        if self._ahead is not None:
            self._ahead.close()
            self._ahead = None

    def _check(self, message: StepMessage, progress: Progress) -> Done:
        if message.check is None:
            raise StepFault(f"this slot runs checks, but got a step of the kind {message.ticket.kind}")
        work = message.check
        stages = self._take()
        stages.telling = progress
        try:
            report, checked = check_and_count(_job(work, self._cache), stages, self._telling(progress))
        except Exception as error:
            if stages.aborted:
                raise StepFault(ABORTED) from error
            raise
        finally:
            with self._changing:
                self._at_work = None
            stages.close()
            for step, seconds in stages.cpu_seconds().items():
                self.cpu_seconds[step] = self.cpu_seconds.get(step, 0.0) + seconds
        # an aborted process looks as if the submission had crashed it, so its report means nothing
        if stages.aborted:
            raise StepFault(ABORTED)
        return _done(report, checked, work)

    def _take(self) -> SandboxedStages:
        """The processes started ahead, or new ones. Raises SandboxFailure."""
        stages, self._ahead = self._ahead, None
        if stages is not None and not stages.alive():
            stages.close()
            stages = None
        with self._changing:
            self._at_work = stages or SandboxedStages()
            return self._at_work

    def _telling(self, progress: Progress) -> Progress:
        """Pass on the first word, which names the step. After the compilation, start the next job's processes."""

        def told(what: str) -> None:
            step = what.split(maxsplit=1)[0]
            if step == "checking":
                self.prepare()
            progress(step)

        return told


def _job(work: CheckWork, cache: Path) -> Job:
    """The job in a message. Raises StepFault or ExerciseError."""
    try:
        source = base64.b64decode(work.source, validate=True)
    except (binascii.Error, ValueError) as error:
        raise StepFault(f"the source is not valid base64: {error}") from error
    exercise = read_exercise(work.exercise.name, work.exercise.definition, work.exercise.digest)
    if work.arch not in ARCHES:
        raise StepFault(f"unknown architecture {work.arch!r}; this worker supports {ARCHES[0]} to {ARCHES[-1]}")
    if work.tile is not None and work.tile not in exercise.tiles:
        raise StepFault(f"{exercise.name} has no tile {work.tile}")
    if not _SEED.fullmatch(work.seed):
        raise StepFault(f"the seed {work.seed[:40]!r} must have 1 to 32 lowercase hex digits")
    return Job(
        source,
        exercise,
        work.arch,
        work.seed,
        cache,
        work.tile,
        evidence=work.evidence,
        gpu=work.device_class,
        repeats=work.repeats,
        trial=_trial(work, exercise),
    )


def _trial(work: CheckWork, exercise: Exercise) -> Trial | None:
    """The trial in a message. Raises StepFault."""
    if work.trial is not None:
        try:
            check_trial(exercise, work.trial, work.tile or exercise.tile)
        except TrialError as error:
            raise StepFault(f"the trial can't run: {error}") from error
    return work.trial


def _done(report: Report, checked: Checked | None, check: CheckWork) -> Done:
    """The report, or the work for a GPU. If that is too large, the submission's code is the cause."""
    if checked is None or checked.asked is None:
        return Done(report)
    work = MeasureWork(checked.asked, report, checked.digests, checked.compared, check.source)
    try:
        return Done(None, pack_work(work))
    except MessageError:
        return Done(_too_large(report, work))


def _too_large(report: Report, work: MeasureWork) -> Report:
    size = sum(len(code.ptx) + len(code.cubin) for code in work.request.modules)
    finding = Finding(
        Verdict.RESOURCE_LIMIT,
        f"Your compiled kernel is too large to send to a GPU: {size / 2**20:.0f} MB. Unroll less, and generate less "
        "code with templates and macros.",
    )
    findings = tuple(sorted((*report.findings, finding), key=finding_order))
    verdict = decide(findings)
    message = message_for(verdict, findings, report.checks, compared=work.compared)
    return replace(report, verdict=verdict, message=message, findings=findings)
