"""The judge's own kernels, compiled: once for each architecture, compiler and text, and kept in a folder."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
import tempfile
from pathlib import Path

from kernels.compile import nvrtc
from kernels.compile.compilation import Compilation
from kernels.wire import WireError, from_plain, to_plain
from worker.contract.measure_work import Prepare, WireCode
from worker.gpu.judge.kernels import ENTRIES
from worker.sandbox.compiling import CompileRequest, compile_in
from worker.sandbox.limits import COMPILE_LIMITS, Failure, SandboxFailure
from worker.sandbox.process import Child

SOURCE = Path(__file__).with_name("judge.cu")

_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")


def judge_code(arch: str, cache: Path) -> WireCode:
    """The kernels for an architecture, such as "sm_90", from the folder `cache`, or made and put there.

    A file there that is damaged is made anew; a folder that cannot be written to costs the compilation each time.

    raise (NVRTCUnavailable): there is no compiler
    raise (SandboxFailure): it could not be started, or does not compile our own kernels
    """
    if not _ARCHITECTURE.fullmatch(arch):
        raise ValueError(f"{arch!r} is no architecture")
    text = SOURCE.read_text(encoding="utf-8")
    made_from = json.dumps([text, arch, nvrtc.installed_version(), ENTRIES])
    file = cache / f"judge-{arch}-{hashlib.sha256(made_from.encode()).hexdigest()[:32]}.json"
    kept = _kept(file)
    if kept is not None:
        return kept
    code = _compiled(text, arch)
    with contextlib.suppress(OSError):
        _keep(file, code)
    return code


def preparation(arch: str, cache: Path) -> Prepare:
    """What every process that drives a GPU of that architecture is told first; raises as `judge_code` does."""
    return Prepare(judge_code(arch, cache), nvrtc.installed_version())


def _compiled(text: str, arch: str) -> WireCode:
    request = CompileRequest(text, ENTRIES[0], arch, kernels=ENTRIES)
    with Child("compile", COMPILE_LIMITS) as child:
        made = compile_in(child, request)
    if not isinstance(made, Compilation):
        said = "; ".join(f"line {finding.line}: {finding.message}" for finding in made)
        raise SandboxFailure(Failure.ERROR, f"the judge's kernels do not compile for {arch}: {said}")
    return WireCode(made.ptx, base64.b64encode(made.cubin).decode())


def _kept(file: Path) -> WireCode | None:
    """What a file holds; None where there is none, or it is not whole."""
    try:
        digest, _, body = file.read_text(encoding="utf-8").partition("\n")
        if digest != _digest(body):
            return None
        return from_plain(WireCode, json.loads(body))
    except (OSError, ValueError, WireError):
        return None


def _keep(file: Path, code: WireCode) -> None:
    """Whole or not at all, whoever else writes it at the same time."""
    file.parent.mkdir(parents=True, exist_ok=True)
    body = json.dumps(to_plain(code))
    descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=file.stem)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as out:
            out.write(f"{_digest(body)}\n{body}")
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()
