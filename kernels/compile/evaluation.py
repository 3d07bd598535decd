"""What names of a file stand for, by the compiler. To be called inside the sandbox only, as
`kernels.compile.compilation`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernels.compile import nvrtc, prelude
from kernels.compile.compilation import FILE, options_for
from kernels.source.launched.probe import probe_text, read_values


def evaluate(
    text: str, names: Sequence[str], arch: str, defines: Mapping[str, str], headers: Mapping[str, str]
) -> Mapping[str, tuple[int, ...]]:
    """The different values that each name has in the file: one as a rule, none where it is no constant.

    Costs little: the compiler reads the file and stops there.

    raise (NVRTCUnavailable): where there is no compiler
    """
    given = {**headers, prelude.NAME: prelude.TEXT}
    options = [*options_for(arch, defines, fmad=True), "-w"]
    return read_values(nvrtc.run(FILE, probe_text(text, names), options, given, []).log, names)
