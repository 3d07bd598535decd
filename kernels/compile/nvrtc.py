"""NVIDIA's runtime compiler from its PyPI wheel, called through ctypes without toolkit, driver or GPU."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

OUT_OF_MEMORY = 1

_LIBRARY = "libnvrtc.so.13"
_BUILTINS = "libnvrtc-builtins.so.13*"
# Already loaded libraries open it at the first compilation, or when a thread ends.
_NEEDED = ("libgcc_s.so.1",)
_NULL_SOURCE = "__global__ void warm(float *p) { p[0] = 0.0f; }"


class NVRTCUnavailable(RuntimeError):
    """The compiler library isn't installed here, or doesn't exist for this system."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The CUDA compiler (NVRTC) isn't available: {reason}. On Linux, install the package "
            "nvidia-cuda-nvrtc 13.5 or newer. On other systems, submit your file on the portal."
        )


@dataclass(frozen=True, slots=True)
class Output:
    """The output of one NVRTC program. After a failure, `ptx`, `cubin` and `lowered` are empty."""

    result: int
    log: str
    ptx: str
    cubin: bytes
    lowered: Mapping[str, str]

    @property
    def ok(self) -> bool:
        return self.result == 0


def library_folder() -> Path:
    """The wheel's folder with libnvrtc and its builtins; raises NVRTCUnavailable."""
    spec = importlib.util.find_spec("nvidia")
    roots = list(spec.submodule_search_locations or ()) if spec else []
    for root in roots:
        for found in sorted(Path(root).glob(f"*/lib/{_LIBRARY}")):
            return found.parent
    raise NVRTCUnavailable(f"{_LIBRARY} was not found")


@cache
def library() -> ctypes.CDLL:
    """The library, loaded once per process; raises NVRTCUnavailable."""
    path = library_folder() / _LIBRARY
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NVRTCUnavailable(f"it can't be loaded ({error})") from error


def load() -> None:
    """Load the compiler and all libraries of a compilation, so later compilations open no file."""
    library()
    for builtins in library_folder().glob(_BUILTINS):
        ctypes.CDLL(str(builtins))
    for name in _NEEDED:
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)


def rehearse() -> None:
    """Compile a tiny program, so the first real compilation is faster.

    A first compilation looks for the GPU's driver and starts it, which reserves gigabytes and runs threads. Call this
    after the sandbox forbids opening files. The compiler then works without the driver.
    """
    run("/warm.cu", _NULL_SOURCE, ["-arch=sm_90"], {}, [])


def installed_version() -> str:
    """The version of the installed compiler, such as "13.5", without loading it; raises NVRTCUnavailable."""
    for builtins in library_folder().glob(_BUILTINS):
        return builtins.name.partition(".so.")[2]
    raise NVRTCUnavailable("its builtins library was not found")


def supported_architectures() -> tuple[str, ...]:
    """The architectures that the library compiles for, such as "sm_90"."""
    count = ctypes.c_int()
    library().nvrtcGetNumSupportedArchs(ctypes.byref(count))
    numbers = (ctypes.c_int * count.value)()
    library().nvrtcGetSupportedArchs(numbers)
    return tuple(f"sm_{number}" for number in numbers)


def install_headers(folder: Path) -> None:
    """Unpack the library's CUDA headers into `folder`; quick if they are already there."""
    error = ctypes.c_char_p()
    result = library().nvrtcInstallBundledHeaders(str(folder).encode(), 0, ctypes.byref(error))
    if result != 0:
        raise OSError(f"can't unpack the CUDA headers into {folder}: {error.value!r}")


def result_name(result: int) -> str:
    """NVRTC's name for a result, such as NVRTC_ERROR_COMPILATION."""
    call = library().nvrtcGetErrorString
    call.restype = ctypes.c_char_p
    return bytes(call(result)).decode()


def run(name: str, text: str, options: Sequence[str], headers: Mapping[str, str], expressions: Sequence[str]) -> Output:
    """Compile `text` under the file name `name`.

    headers: include names and their texts, passed in memory
    expressions: names in the source (`kernel`, `&global`) whose mangled names are needed
    """
    program = ctypes.c_void_p()
    lib = library()
    result = lib.nvrtcCreateProgram(
        ctypes.byref(program),
        text.encode(),
        name.encode(),
        len(headers),
        _strings(list(headers.values())),
        _strings(list(headers)),
    )
    if result != 0:
        return Output(result, "", "", b"", {})
    try:
        for expression in expressions:
            lib.nvrtcAddNameExpression(program, expression.encode())
        result = lib.nvrtcCompileProgram(program, len(options), _strings(options))
        log = _bytes(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
        if result != 0:
            return Output(result, log, "", b"", {})
        ptx = _bytes(program, "PTX").rstrip(b"\0").decode(errors="replace")
        lowered = {expression: _lowered(program, expression) for expression in expressions}
        return Output(result, log, ptx, _bytes(program, "CUBIN"), lowered)
    finally:
        lib.nvrtcDestroyProgram(ctypes.byref(program))


def _strings(texts: Sequence[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*(text.encode() for text in texts))


def _bytes(program: ctypes.c_void_p, what: str) -> bytes:
    """One of NVRTC's outputs, from its two calls for size and content."""
    size = ctypes.c_size_t()
    if getattr(library(), f"nvrtcGet{what}Size")(program, ctypes.byref(size)) != 0:
        return b""
    buffer = ctypes.create_string_buffer(max(size.value, 1))
    if getattr(library(), f"nvrtcGet{what}")(program, buffer) != 0:
        return b""
    return buffer.raw[: size.value]


def _lowered(program: ctypes.c_void_p, expression: str) -> str:
    name = ctypes.c_char_p()
    if library().nvrtcGetLoweredName(program, expression.encode(), ctypes.byref(name)) != 0:
        return ""
    return (name.value or b"").decode()
