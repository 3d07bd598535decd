"""Reads the compiler's log: errors and warnings at the student's lines, and the assembled kernel's resources."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from kernels.facts import Facts, Mistake
from kernels.source.headers import header_of
from kernels.source.stand_ins import missing_sentence
from kernels.verdict import Severity


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message of the compiler; `line` and `column` count from 1 and are None if unknown."""

    line: int | None
    column: int | None
    severity: Severity
    message: str


@dataclass(frozen=True, slots=True)
class Resources:
    """The resources that a thread needs. Shared memory and barriers are per block.

    cluster: the blocks that `__cluster_dims__` demands in x, y, z; empty without it
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    spill_store_bytes: int
    spill_load_bytes: int
    constant_bytes: int
    barriers: int
    cluster: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """A kernel of a compilation: its mangled name, and what a thread needs."""

    name: str
    resources: Resources


_PLACE = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?P<what>catastrophic error|internal error|error|warning)"
    r"(?: #\d+(?:-D)?)?: (?P<message>.*)$"
)
_NO_PLACE = re.compile(r"^At end of source: (?:catastrophic error|error)(?: #\d+(?:-D)?)?: (?P<message>.*)$")
_NOTE = re.compile(r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): note")
_PTXAS = re.compile(r"^ptxas [^;\n]*?(?:; )?(?:error|fatal)\s*: (?P<message>(?!Ptx assembly aborted).*)$")
_FIGURES = {
    "registers": re.compile(r"Used (\d+) registers"),
    "shared_bytes": re.compile(r"(?<!\d)(\d{1,9}) bytes smem"),
    "local_bytes": re.compile(r"(?<!\d)(\d{1,9}) bytes stack frame"),
    "spill_store_bytes": re.compile(r"(?<!\d)(\d{1,9}) bytes spill stores"),
    "spill_load_bytes": re.compile(r"(?<!\d)(\d{1,9}) bytes spill loads"),
    "constant_bytes": re.compile(r"(?<!\d)(\d{1,9}) bytes cmem"),
    "barriers": re.compile(r"used (\d+) barriers"),
}
_ENTRY = re.compile(r"Compiling entry function '([^']*)'")
_UNINITIALISED = "dynamic initialization is not supported for a function-scope static __shared__ variable"
_NO_CONSTRUCTOR = "no constructor runs for a `__shared__` variable, so one thread must set it before others read it"
# The usual declaration of such an object, which a thread initialises with `init` or which a pipeline sets up.
_BARRIER = re.compile(r"\bbarrier\b|\bpipeline_shared_state\b")
_TOO_LONG = 300
_CLOSE = 0.8


def parse(log: str, file: str, last_line: int) -> tuple[Diagnostic, ...]:
    """Errors and warnings in `log`, in order. A message about another file than `file` has no line.

    last_line: of the file, because a `#line` in the source can claim any line
    """
    lines = log.splitlines()
    found = []
    for number, text in enumerate(lines):
        after = lines[number + 1 : number + 3]
        if match := _PLACE.match(text):
            severity = Severity.WARNING if match["what"] == "warning" else Severity.ERROR
            line, message = _own_line(match, file, last_line), match["message"]
            if message.startswith(_UNINITIALISED):
                if _BARRIER.search("".join(after[:1])):
                    continue
                message = _NO_CONSTRUCTOR
            found.append(Diagnostic(line, _column(after) if line else None, severity, _short(message)))
        elif match := _NO_PLACE.match(text):
            note = _NOTE.match(after[0]) if after else None
            line = _own_line(note, file, last_line) if note else None
            found.append(Diagnostic(line, None, Severity.ERROR, _short(match["message"])))
        elif match := _PTXAS.match(text):
            message = f"inline assembly: {match['message']}"
            found.append(Diagnostic(None, None, Severity.ERROR, _short(message)))
    return tuple(found)


def _own_line(match: re.Match[str], file: str, last_line: int) -> int | None:
    line = int(match["line"][:9])
    return line if match["file"] == file and 1 <= line <= last_line else None


def resources(log: str, entry: str) -> Resources | None:
    """The figures that ptxas printed for `entry`; None if there are none."""
    part = _entry_part(log.splitlines(), entry)
    if not part:
        return None
    text = "\n".join(part)
    # ptxas prints cmem once for each constant bank.
    figures = {name: sum(int(figure) for figure in pattern.findall(text)) for name, pattern in _FIGURES.items()}
    return Resources(**figures, cluster=())


def entries(log: str) -> tuple[str, ...]:
    """The mangled names of the kernels in ptxas's report."""
    return tuple(_ENTRY.findall(log))


def _entry_part(lines: Iterable[str], entry: str) -> list[str]:
    part: list[str] = []
    inside = False
    for line in lines:
        if match := _ENTRY.search(line):
            inside = match[1] == entry
        elif inside and "Function properties for" in line and entry not in line:
            inside = False
        if inside:
            part.append(line)
    return part


def _column(after: list[str]) -> int | None:
    """The column of the caret below a quoted line; the compiler indents both by two spaces."""
    if len(after) == 2 and after[1].strip() == "^":
        return after[1].index("^") - 1
    return None


def _short(message: str) -> str:
    return message if len(message) <= _TOO_LONG else message[:_TOO_LONG] + " ..."


_BUILTINS = (
    "__syncthreads",
    "__syncwarp",
    "__threadfence",
    "threadIdx",
    "blockIdx",
    "blockDim",
    "gridDim",
    "atomicAdd",
    "__shared__",
    "__global__",
    "__device__",
    "__restrict__",
    "__constant__",
)
_UNDEFINED = re.compile(r'identifier "([^"]+)" is undefined')
_NO_MEMBER = re.compile(r'namespace "(\w+)" has no member "(\w+)"')
_DECLARED = re.compile(
    r'"(?:[^"(]{0,200}[ *&])?(\w{1,200})(?:\([^"]{0,400})?"[^"(]{0,200}'
    r"\((?:declared|previous definition) at line \d{1,9} of ([^()]{1,200})\)"
)
_UNRESOLVED = re.compile(r"Unresolved extern (?:function|variable) '([^']+)'")
WITHOUT_MASK = {
    "__shfl": "__shfl_sync(0xffffffff, ...)",
    "__shfl_up": "__shfl_up_sync(0xffffffff, ...)",
    "__shfl_down": "__shfl_down_sync(0xffffffff, ...)",
    "__shfl_xor": "__shfl_xor_sync(0xffffffff, ...)",
    "__any": "__any_sync(0xffffffff, ...)",
    "__all": "__all_sync(0xffffffff, ...)",
    "__ballot": "__ballot_sync(0xffffffff, ...)",
}
"""Warp functions that CUDA 12 removed, and their successors, whose first argument is a mask of lanes."""
_WAY_OUT = "remove it, or put it between `#ifndef TILELAB` and `#endif`."
_PLAIN = (
    (
        "function without execution space annotations",
        (
            "This function is neither `__global__` nor `__device__`, but Tilelab compiles only device code. "
            f"Write `__device__` before it, {_WAY_OUT}"
        ),
    ),
    (
        "explicitly marked as a __host__ function",
        (f"This function is `__host__`, but Tilelab compiles only device code. Write `__device__` instead, {_WAY_OUT}"),
    ),
    (
        "variable without memory space annotations",
        (
            "This variable is outside of all functions, so it is on the host, but Tilelab compiles only device code. "
            f"Write `__device__` or `__constant__` before it, make it local, {_WAY_OUT}"
        ),
    ),
)


_NO_DECLARATION = "has no storage class or type specifier"


def host_declarations(found: Iterable[Diagnostic]) -> dict[int, Diagnostic]:
    """The refused host declarations by line, without lines that have no readable declaration."""
    found = tuple(found)
    unreadable = {item.line for item in found if _NO_DECLARATION in item.message}
    return {
        item.line: item
        for item in found
        if item.line is not None and item.line not in unreadable and any(words in item.message for words, _ in _PLAIN)
    }


_QUOTED = re.compile(r'(?:\bidentifier )?"([^"`]+)"')


def undefined_name(message: str) -> str | None:
    match = _UNDEFINED.search(message)
    return match[1] if match else None


def undefined_symbol(message: str) -> str | None:
    """The mangled name that is used and never defined, in a message of the assembler."""
    match = _UNRESOLVED.search(message)
    return match[1] if match else None


def declared_in(message: str, file: str) -> str | None:
    """The name that `file` already declares, in a message of the compiler."""
    match = _DECLARED.search(message)
    return match[1] if match and match[2] == file else None


def lacks_mask(message: str) -> bool:
    """Whether the assembler refuses a warp function without a mask of lanes."""
    return "without '.sync'" in message


def mask_sentence(name: str) -> str:
    """The replacement for a warp function without a mask of lanes."""
    return f"CUDA no longer has `{name}`. Use `{WITHOUT_MASK[name]}`, with the mask of lanes first."


def sentence(message: str, meant: str = "", otherwise: str = "") -> tuple[str, Facts]:
    """The compiler's message as a sentence, with advice for common mistakes, and its facts.

    meant: the closest name of the file to an undefined name
    otherwise: the advice for an undefined name that isn't close to another one
    """
    member = _NO_MEMBER.search(message)
    name = f"{member[1]}::{member[2]}" if member else undefined_name(message) or ""
    if missing := missing_sentence(name):
        return missing, Facts()
    if header := header_of(name):
        return f"`{name}` comes from `<{header}>`. Add `#include <{header}>`.", Facts()
    if name in WITHOUT_MASK:
        return mask_sentence(name), Facts()
    for words, plain in _PLAIN:
        if words in message:
            return plain, Facts()
    plain_message = _QUOTED.sub(r"`\1`", message.rstrip(" :"))  # candidates follow a colon on other lines
    text = plain_message[:1].upper() + plain_message[1:]
    text = text if text.endswith((".", "?", "!")) else text + "."
    advice, facts = hint(message, meant, otherwise)
    return f"{text} {advice}".rstrip(), facts


def hint(message: str, meant: str = "", otherwise: str = "") -> tuple[str, Facts]:
    """The advice for a common mistake, and its facts; "" for none."""
    if 'expected a ";"' in message:
        return "Add the missing `;` at the end of this line or the line before.", Facts()
    if 'expected a "}"' in message:
        return "A `{` is never closed. Count the braces.", Facts(Mistake.NEVER_CLOSED)
    if "initializer not allowed for __shared__" in message:
        return "Let the threads store the first values, then call `__syncthreads()`.", Facts()
    if "has already been declared in the current scope" in message:
        return "Two declarations in one block share this name. Rename one.", Facts()
    if match := _UNDEFINED.search(message):
        return _undefined_hint(match[1], meant, otherwise)
    return "", Facts()


def _undefined_hint(name: str, meant: str, otherwise: str) -> tuple[str, Facts]:
    if name == "main" or name.startswith("cuda"):
        return "Only the kernel and its helpers belong in this file. Tilelab has the host code.", Facts()
    bare = name.strip("_").lower()
    alike = (builtin for builtin in _BUILTINS if bare == builtin.strip("_").lower())
    meant = next(alike, "") or meant or next(iter(get_close_matches(name, _BUILTINS, 1, _CLOSE)), "")
    if meant:
        return f"Did you mean `{meant}`?", Facts(Mistake.UNDEFINED, (name, meant))
    return otherwise or "Check its spelling. It must be declared before this line.", Facts()
