"""The child's side of the compile step. Imports little, because every submission waits for its start."""

from __future__ import annotations

import base64
from dataclasses import asdict
from typing import Any

from kernels.compile import nvrtc
from kernels.compile.compilation import compile_source, evaluate
from kernels.wire import to_plain


def warm_up() -> None:
    """Load the compiler with all its parts, because nothing can be opened after the lockdown."""
    nvrtc.load()


def rehearse() -> None:
    """Compile once after the lockdown, so that the compiler can't start a GPU's driver."""
    nvrtc.rehearse()


def compile_step(request: dict[str, Any]) -> dict[str, Any]:
    """Run the step on a CompileRequest as a dictionary. Returns a Compilation or findings as a dictionary.

    For an EvaluateRequest, returns the values of its names.
    """
    if "names" in request:
        return {"values": evaluate(**request)}
    lists = {name: tuple(request[name]) for name in ("symbols", "kernels", "parameters") if request[name] is not None}
    others = {name: tuple(types) for name, types in request["others"].items()}
    wanted = request | lists | {"others": others}
    result = compile_source(**wanted)
    if isinstance(result, tuple):
        return {
            "findings": [
                {"kind": item.kind, "message": item.message, "line": item.line, "facts": to_plain(item.facts)}
                for item in result
            ]
        }
    return {"compilation": asdict(result) | {"cubin": base64.b64encode(result.cubin).decode()}}
