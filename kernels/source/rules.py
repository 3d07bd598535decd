"""Rules for source files: no unlisted headers, no host code, no blanks, no directives that move lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kernels.facts import Facts, Mistake
from kernels.source.characters import odd_characters
from kernels.source.conditions import VisibleItem
from kernels.source.headers import HEADERS
from kernels.source.text import Directive, Kind, Token
from kernels.verdict import Finding, Severity, Verdict, rejected

# The messages depend on the text only, so they reveal nothing about the files on this machine.
_WAY_OUT = "Remove the line, or put it between `#ifndef TILELAB` and `#endif`."
FORBIDDEN_INCLUDE = f"This include has an unusual form. The usual form is `#include <cuda_runtime.h>`. {_WAY_OUT}"
MOVED_LINES = "`#line` isn't allowed, because findings must point to lines of your file. Remove it."

"""Part of each finding about host code, and of no other finding."""

BLANK = "____"

_PLAIN_INCLUDE = re.compile(
    r"[ \t]*#[ \t]*include[ \t]*(?:<([^<>\"]+)>|\"([^<>\"]+)\")[ \t]*(?://.*|/\*[^*]*\*/[ \t]*)?"
)
_HEADER_NAME = re.compile(r"[\w.+/-]{1,80}")
_INCLUDING = {"include", "include_next", "import", "embed"}
_PROBES = {"__has_include", "__has_include_next", "__has_embed"}
_HOST_CALL = re.compile(r"cuda[A-Z]\w*")
_DEVICE_CALLS = {"cudaGridDependencySynchronize", "cudaTriggerProgrammaticLaunchCompletion"}
_HOST_STD = {
    "cout", "cerr", "endl", "cin", "vector", "string", "chrono", "printf", "ofstream", "ifstream", "unique_ptr",
    "mt19937", "random_device", "uniform_real_distribution", "default_random_engine", "thread", "exit",
}  # fmt: skip
_MOST_HOST_FINDINGS = 4
_MAIN = "`main`"


def check_includes(seen: Sequence[VisibleItem], text: str) -> list[Finding]:
    """One finding for each line that includes or probes for an unlisted file."""
    lines = text.split("\n")
    forbidden = {item.line for item in _directives(seen) if _includes_other(item, lines)}
    forbidden |= {token.line for token in _all_tokens(seen) if token.text in _PROBES}
    return [rejected(_include_message(text, line), line) for line in sorted(forbidden)]


def _include_message(text: str, line: int) -> str:
    if (odd := odd_characters(text).get(line)) is not None:
        return odd.sentence
    match = _PLAIN_INCLUDE.fullmatch(text.split("\n")[line - 1])
    name = match and (match.group(1) or match.group(2))
    if not name or not _HEADER_NAME.fullmatch(name):
        return FORBIDDEN_INCLUDE
    return f"`{name}` isn't on Tilelab's list of headers. {_WAY_OUT}"


def _includes_other(directive: Directive, lines: Sequence[str]) -> bool:
    if directive.name not in _INCLUDING:
        return False
    match = _PLAIN_INCLUDE.fullmatch(lines[directive.line - 1])
    return match is None or (match.group(1) or match.group(2)) not in HEADERS


_FIXED_WIDTH = {"uint8_t", "uint16_t", "uint32_t", "uint64_t", "intptr_t", "uintptr_t"}
_WITHOUT_FIXED_WIDTH = {
    "assert.h", "cuda_bf16.h", "cuda_fp16.h", "cuda_runtime.h", "cuda_runtime_api.h", "device_launch_parameters.h",
    "float.h", "limits.h", "math.h", "math_constants.h", "mma.h", "stdio.h", "stdlib.h", "string.h", "time.h",
}  # fmt: skip


def check_integer_types(seen: Sequence[VisibleItem], tokens: Sequence[Token]) -> list[Finding]:
    """A remark on a type that nvcc knows only with a header, and Tilelab without."""
    included = {
        "".join(token.text for token in item.tokens).strip('<>"')
        for item in _directives(seen)
        if item.name == "include"
    }
    used = next((token for token in tokens if token.text in _FIXED_WIDTH), None)
    if used is None or included - _WITHOUT_FIXED_WIDTH or _names_types(tokens):
        return []
    message = f"nvcc knows `{used.text}` only with `#include <stdint.h>`. Tilelab needs no include for it."
    return [Finding(Verdict.REJECTED, message, used.line, severity=Severity.WARNING)]


def _names_types(tokens: Sequence[Token]) -> bool:
    following = zip(tokens, [token.text for token in tokens[1:]], strict=False)
    typedef = any(token.text == "typedef" for token in tokens)
    return any(
        token.text in _FIXED_WIDTH and (after == "=" or (after == ";" and typedef)) for token, after in following
    )


def check_lines(seen: Sequence[VisibleItem]) -> list[Finding]:
    """A finding if the file changes its line numbers."""
    moved = [item.line for item in _directives(seen) if item.name == "line" or item.name[:1].isdigit()]
    return [rejected(MOVED_LINES, line) for line in moved[:1]]


def _directives(seen: Iterable[VisibleItem]) -> Iterable[Directive]:
    return (entry.item for entry in seen if isinstance(entry.item, Directive))


def _all_tokens(seen: Iterable[VisibleItem]) -> Iterable[Token]:
    """Tokens of the code and of the preprocessor lines."""
    for entry in seen:
        if isinstance(entry.item, Token):
            yield entry.item
        elif isinstance(entry.item, Directive):
            yield from entry.item.tokens


def check_blanks(seen: Sequence[VisibleItem]) -> list[Finding]:
    """One finding for the unfilled blanks of a starter file."""
    lines = [token.line for token in _all_tokens(seen) if token.text == BLANK]
    if not lines:
        return []
    message = f"`{BLANK}` is a blank from the starter file. Fill it in. Blanks left: {len(lines)}."
    return [Finding(Verdict.REJECTED, message, line=lines[0], count=len(lines))]


def check_host_code(tokens: Sequence[Token]) -> list[Finding]:
    """One finding for each kind of host code, at its first line."""
    places: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        what = host_construct(tokens, index)
        if what is not None:
            places.setdefault(what, []).append(token.line)
    if _MAIN in places:
        places = {_MAIN: places[_MAIN]}  # without `main`, its calls are gone too
    return [
        Finding(
            Verdict.REJECTED,
            f"{what[:1].upper()}{what[1:]} is host code. Tilelab creates the matrices and launches the kernel. "
            f"Remove {what}, or put your host code between `#ifndef TILELAB` and `#endif`.",
            line=lines[0],
            count=len(lines),
            facts=Facts(Mistake.MAIN if what == _MAIN else Mistake.HOST_CODE),
        )
        for what, lines in list(places.items())[:_MOST_HOST_FINDINGS]
    ]


def host_construct(tokens: Sequence[Token], index: int) -> str | None:
    """The name of the host code that starts at this token."""
    token = tokens[index]
    before = tokens[index - 1] if index else None
    after = tokens[index + 1].text if index + 1 < len(tokens) else ""
    if token.text == "<<<":
        return "a launch with `<<<...>>>`"
    if token.text == "main" and after == "(" and before is not None and before.kind is Kind.NAME:
        return _MAIN
    if token.kind is Kind.NAME and after == "(" and _HOST_CALL.fullmatch(token.text):
        return None if token.text in _DEVICE_CALLS else f"`{token.text}`"
    of_cuda = [each.text for each in tokens[max(0, index - 2) : index]] == ["cuda", "::"]
    if (
        token.text == "std"
        and not of_cuda
        and after == "::"
        and index + 2 < len(tokens)
        and tokens[index + 2].text in _HOST_STD
    ):
        return f"`std::{tokens[index + 2].text}`"
    return None
