"""The explanation of a mistake, made in the sandbox, because it reads the hostile source once more."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from typing import Protocol

from kernels.rendering.text_safety import safe_lines
from kernels.report import Report
from kernels.report.explanation import explained
from kernels.report.model import Explanation
from kernels.source.paste.decoding import decode
from kernels.verdict import Verdict
from kernels.wire import WireError, from_plain, to_plain
from worker.sandbox.limits import CHECK_LIMITS, Failure, SandboxFailure
from worker.sandbox.process import Child

EXPLAIN = "explain"
"""The key of a request."""

_SECONDS = 5.0
"""A usual explanation takes a few milliseconds."""

_NOTHING_TO_EXPLAIN = (Verdict.ACCEPTED, Verdict.SYSTEM_ERROR)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ExplainRequest:
    """A report without an explanation, and the graded text."""

    report: Report
    source: str


class Explains(Protocol):
    def explain(self, request: ExplainRequest) -> Explanation:
        """Explain a report. Raises SandboxFailure."""


class OneExplanation:
    """Explains one report in a process of its own. The caller closes it.

    A GPU seldom finds a mistake, so no process waits for one.
    """

    def __init__(self) -> None:
        self._child: Child | None = None

    def start(self) -> None:
        """Start the process early, because the start takes longest. Raises SandboxFailure."""
        self._child = self._child or Child("run", CHECK_LIMITS)

    def explain(self, request: ExplainRequest) -> Explanation:
        self.start()
        assert self._child is not None
        return explain_in(self._child, request)

    def close(self) -> None:
        if self._child is not None:
            self._child.close()


def explain_in(child: Child, request: ExplainRequest) -> Explanation:
    """Explain in a child that runs kernels. Raises SandboxFailure."""
    answer = child.request({EXPLAIN: to_plain(request)}, last=False, seconds=_SECONDS)
    try:
        return from_plain(Explanation, answer)
    except WireError as error:
        raise SandboxFailure(Failure.ERROR, f"invalid explanation: {error}") from error


def explain(request: ExplainRequest) -> Explanation:
    return explained(request.report, safe_lines(request.source.rstrip()))


def with_explanation(report: Report, source: bytes, process: Explains) -> Report:
    """The report with its explanation. If that fails, the verdict stays, and its advice is the general one."""
    if report.verdict in _NOTHING_TO_EXPLAIN:
        return report
    text = decode(source)
    # A report can be large, and none of this is about the source.
    small = replace(report, ptx=(), warnings=(), printed="")
    try:
        made = process.explain(ExplainRequest(small, text if isinstance(text, str) else ""))
    except SandboxFailure as failure:
        logger.warning("no explanation of a %s: %s", report.verdict, failure)
        return report
    return replace(report, explanation=made)
