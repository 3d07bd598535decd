"""The origin of a result, and whether it is about the submitted work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from server.database.engine import Sessions
from server.dispatching.dispatch import check_work_of
from server.fleet.worker_keys import valid_keys
from server.grading.models import Step
from worker.contract.credential import Credential, Sealed
from worker.contract.messages import StepKind, StepResult, check_digest, measure_digest

KEPT_SECONDS = 5.0
"""How long the keys are kept. A revoked worker's results may be recorded for so long."""

_SOONEST_SECONDS = 1.0


class Distrust(StrEnum):
    """Why a result is refused."""

    UNSIGNED = "unsigned"  # it has no signature
    SIGNATURE = "signature"  # no valid key of the named worker made its signature
    QUEUE = "queue"  # the worker may not serve the step's queue, or signs another worker's name
    WORK = "work"  # the worker graded other work than was submitted


class Distrusted(ValueError):
    """The result must not be recorded."""

    def __init__(self, why: Distrust) -> None:
        super().__init__(why.value)
        self.why = why


@dataclass(slots=True)
class WorkerKeys:
    """The valid keys, read again every few seconds, so that a result needs no query."""

    sessions: Sessions
    clock: Callable[[], float] = time.monotonic
    _keys: Sequence[Credential] = ()
    _read: float = field(default=-KEPT_SECONDS)

    def origin(self, sealed: Sealed) -> Credential:
        """The credential that signed it. Raises Distrusted."""
        if not sealed.signature:
            raise Distrusted(Distrust.UNSIGNED)
        found = self._signer(sealed, KEPT_SECONDS) or self._signer(sealed, _SOONEST_SECONDS)
        if found is None:
            raise Distrusted(Distrust.SIGNATURE)
        return found

    def _signer(self, sealed: Sealed, oldest: float) -> Credential | None:
        if self.clock() - self._read >= oldest:
            with self.sessions.begin() as session:
                rows = valid_keys(session, datetime.now(UTC))
                self._keys = [Credential(row.name, row.queue_names, row.key) for row in rows]
            self._read = self.clock()
        own = (key for key in self._keys if key.name == sealed.name)
        return next((key for key in own if sealed.signed_with(key.key)), None)


def check_origin(step: Step, result: StepResult, origin: Credential) -> None:
    """Test that the worker may answer this step. Raises Distrusted."""
    if not origin.allows(step.queue) or not origin.worker(result.worker):
        raise Distrusted(Distrust.QUEUE)


def check_work(step: Step, result: StepResult) -> None:
    """Test that a result with a report is about the submitted work. Raises Distrusted."""
    if not result.fault and result.graded != submitted_digest(step):
        raise Distrusted(Distrust.WORK)


def submitted_digest(step: Step) -> str:
    """The digest of a step's work according to the database, without reading a source or a kernel."""
    if step.kind is StepKind.MEASURE:
        # A step of an earlier version has no digest.
        return step.work_digest or measure_digest(step.work or b"")
    return check_digest(check_work_of(step, source=""), step.job.source_digest)
