"""The judge's own kernels, compiled once for each architecture, compiler and text, and cached in a folder."""

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
from worker.sandbox.compile_child import CompileRequest, compile_in
from worker.sandbox.limits import COMPILE_LIMITS, Failure, SandboxFailure
from worker.sandbox.process import Child

SOURCE = Path(__file__).with_name("judge.cu")

_ARCHITECTURE = re.compile(r"sm_\d{2,3}[af]?")


def judge_code(arch: str, cache: Path) -> WireCode:
    """The kernels for an architecture such as "sm_90", from the folder `cache` or newly compiled.

    Replaces damaged files. If the folder isn't writable, compiles each time.

    raise (NVRTCUnavailable): the compiler is missing
    raise (SandboxFailure): the compiler didn't start, or didn't compile our kernels
    """
    if not _ARCHITECTURE.fullmatch(arch):
        raise ValueError(f"{arch!r} is not an architecture")
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
    """The first request to every GPU process of this architecture. Raises like `judge_code`."""
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
    """A cached compilation, or None if the file is missing or damaged."""
    try:
        digest, _, body = file.read_text(encoding="utf-8").partition("\n")
        if digest != _digest(body):
            return None
        return from_plain(WireCode, json.loads(body))
    except (OSError, ValueError, WireError):
        return None


def _keep(file: Path, code: WireCode) -> None:
    """Write a cached compilation atomically, because other processes may write it at the same time."""
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
