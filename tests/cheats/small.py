"""A cheat at small sizes, measured by the judge's real kernels with the CPU device in a GPU's place."""

from __future__ import annotations

import re
from typing import Any

from kernels.verdict import Verdict, decide
from tests.cheats.cases import Cheat
from tests.worker.gpu.measuring import measured, request_for
from worker.gpu.cpu_backend import CpuBackend

RANKING, CURVE = 48, (40,)
_ENOUGH_SECONDS = 3600.0
"""For all repeats, however busy the machine is."""

_SIZES = {"2048": str(RANKING), "1024": str(CURVE[0])}
_NUMBER = re.compile(rf"\b({'|'.join(_SIZES)})\b")
_COMPARED = re.compile(r"\b(Row|Col) == (\d{3,})\b")


def smaller(source: str) -> str:
    """The kernel with a ranking size of 48 in the place of 2048, and 40 in the place of 1024."""
    text = _COMPARED.sub(lambda found: f"{found[1]} == {int(found[2]) % CURVE[0]}", source)
    return _NUMBER.sub(lambda found: _SIZES[found[1]], text)


def verdict_at_small_sizes(cheat: Cheat) -> Verdict:
    """Judge and time the kernel as a GPU does. Nothing of the CPU device's own checks is used."""
    widths: list[dict[str, Any]] = [{"Width": width} for width in CURVE]
    text = smaller(cheat.path.read_text(encoding="utf-8"))
    request = request_for(text, ranking={"Width": RANKING}, curve=widths, budget_seconds=_ENOUGH_SECONDS)
    return decide(measured(request, CpuBackend("13.0"), real_judge=True).findings)
