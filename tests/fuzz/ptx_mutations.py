"""Changes to compiled text: lines, registers, opcodes, types, constants, labels, guards, declarations."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from tests.fuzz.instructions import random_instruction

_REGISTER = re.compile(r"%(?:rd|rs|rh|r|fd|f|p|hh|h|b)\d+")
_TYPE = re.compile(r"\.(?:pred|[busf](?:8|16|32|64)|b128|f16x2|bf16x2|bf16)\b")
_NUMBER = re.compile(r"(?<![\w%$.])-?\d+(?![\w.])")
_FLOAT = re.compile(r"0[fFdD][0-9A-Fa-f]+")
_LABEL = re.compile(r"\$L\w+")
_SPACE = re.compile(r"\.(?:global|shared|local|const|param)\b")
_OPCODE = re.compile(r"^(\s*(?:@!?\S+\s+)?)([a-z][\w.:]*)(?=[\s;])")
_INSTRUCTION = re.compile(r"^\s*(?:@!?%\w+\s+)?[a-z][\w.:]*[^:{}]*;\s*$")
_TYPES = (
    ".pred", ".b8", ".u8", ".s8", ".b16", ".u16", ".s16", ".f16", ".b32", ".u32", ".s32", ".f32", ".b64", ".u64",
    ".s64", ".f64", ".b128", ".f16x2", ".bf16", ".bf16x2", ".f8", ".q32",
)  # fmt: skip
_SPACES = (".global", ".shared", ".local", ".const", ".param", ".shared::cta", ".generic", "")
_NUMBERS = (
    "0", "1", "-1", "2", "3", "4", "7", "8", "16", "31", "32", "33", "64", "255", "1023", "4096", "65536",
    "1048576", "16777216", "2147483647", "2147483648", "-2147483648", "4294967295", "68719476736",
    "137438953472", "9223372036854775807", "-9223372036854775808", "18446744073709551615",
    "99999999999999999999999999", "9" * 5000,
)  # fmt: skip
_FLOATS = (
    "0f00000000", "0f7F800000", "0fFF800000", "0f7FC00000", "0f80000000", "0f00000001", "0f7F7FFFFF",
    "0d0000000000000000", "0d7FF0000000000000", "0d7FF8000000000000", "0f3F8", "0d3FF0",
)  # fmt: skip

Lines = list[str]
Mutation = Callable[[Random, Lines, Sequence[Lines]], None]


def mutated(random: Random, text: str, others: Sequence[str]) -> str:
    """The text after one to four changes."""
    if random.random() < 0.02:
        return _noise(random, text)
    lines = text.split("\n")
    bodies = [random.choice(others).split("\n")]
    for _ in range(random.choice((1, 1, 1, 1, 2, 2, 3, 4))):
        random.choice(_MUTATIONS)(random, lines, bodies)
        if not lines:
            break
    return "\n".join(lines)


def _noise(random: Random, text: str) -> str:
    """Characters changed anywhere."""
    for _ in range(random.choice((1, 2, 5))):
        at = random.randrange(len(text) + 1)
        new = random.choice(
            ("", "", chr(random.randrange(32, 127)), "{", "}", ";", "\0", "é", '"', "/*", "<", "@", "!")
        )
        text = text[:at] + new + text[at + random.choice((0, 1, 1, 30)) :]
    return text


def _place(random: Random, lines: Lines) -> int:
    """The number of a line, most often one with an instruction."""
    if random.random() < 0.85:
        found = [at for at, line in enumerate(lines) if _INSTRUCTION.match(line)]
        if found:
            return random.choice(found)
    return random.randrange(len(lines))


def _replace(random: Random, lines: Lines, pattern: re.Pattern[str], choose: Callable[[str], str]) -> None:
    """Something of the pattern becomes something else, anywhere in the text."""
    found = [at for at, line in enumerate(lines) if pattern.search(line) and ".loc" not in line]
    if not found:
        return
    at = random.choice(found)
    match = random.choice(list(pattern.finditer(lines[at])))
    lines[at] = lines[at][: match.start()] + choose(match.group()) + lines[at][match.end() :]


def _everything(lines: Lines, pattern: re.Pattern[str]) -> list[str]:
    return [match.group() for line in lines for match in pattern.finditer(line)] or [""]


# -- lines ------------------------------------------------------------------------------------------------------------


def _delete_line(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    del lines[_place(random, lines)]


def _double_line(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    lines.insert(_place(random, lines), lines[_place(random, lines)])


def _swap_lines(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    one, two = _place(random, lines), _place(random, lines)
    lines[one], lines[two] = lines[two], lines[one]


def _foreign_line(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    other = random.choice(others)
    start = _place(random, other)
    at = _place(random, lines)
    lines[at:at] = other[start : start + random.choice((1, 1, 1, 3))]


def _new_instruction(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    registers = sorted(set(_everything(lines, _REGISTER)))
    symbols = _everything(lines, re.compile(r"(?<=[\s\[])_?Z?\w*_param_\d+|\b_Z\w+\b|__local_depot\d+"))
    labels = _everything(lines, _LABEL)
    lines.insert(_place(random, lines), random_instruction(random, registers, symbols, labels))


def _truncate(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    del lines[_place(random, lines) :]
    if random.random() < 0.7:
        lines.append("}")


# -- parts of a line --------------------------------------------------------------------------------------------------


def _other_register(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    known = _everything(lines, _REGISTER)
    _replace(random, lines, _REGISTER, lambda old: random.choice(known))


def _similar_register(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    known = _everything(lines, _REGISTER)

    def choose(old: str) -> str:
        return random.choice([each for each in known if each.rstrip("0123456789") == old.rstrip("0123456789")])

    _replace(random, lines, _REGISTER, choose)


def _odd_register(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    odd = (
        "%tid.x", "%tid.y", "%ctaid.x", "%laneid", "%clock64", "%clock", "%r99999", "%nothing", "_",
        "%tid", "%tid.w", "%envreg3", "!%p1", "%lanemask_lt", "%gridid", "%smid", "%globaltimer",
        "{%r1, %r2}", "[%rd1]", "(param0)", "%r1|%p1", "%warpid", "%dynamic_smem_size", "%total_smem_size",
        "%r01", "%r-1", "0", "5", "0f3F800000",
    )  # fmt: skip
    _replace(random, lines, _REGISTER, lambda old: random.choice(odd))


def _other_opcode(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    sources = [*lines, *others[0]]
    known = [match[2] for line in sources if (match := _OPCODE.match(line))] or ["nop"]
    _replace(random, lines, re.compile(r"(?<=\t)[a-z][\w.:]*(?=[\s;])"), lambda old: random.choice(known))


def _other_type(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    _replace(random, lines, _TYPE, lambda old: random.choice(_TYPES))


def _other_modifier(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    def choose(old: str) -> str:
        parts = old.split(".")
        at = random.randrange(len(parts))
        if random.random() < 0.5:
            del parts[at]
        else:
            new = (
                "rn", "rz", "rm", "rp", "rni", "rzi", "ftz", "sat", "lo", "hi", "wide", "approx", "full",
                "v2", "v4", "sync", "volatile", "relaxed", "gpu", "cta", "nc", "to", "uni", "lt", "ge",
                "ltu", "and", "x2", "noftz", "cc",
            )  # fmt: skip
            parts.insert(at, random.choice(new))
        return ".".join(parts)

    _replace(random, lines, re.compile(r"(?<=\t)[a-z]\w*(?:\.[\w:]+)+"), choose)


def _other_number(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    _replace(random, lines, _NUMBER, lambda old: random.choice(_NUMBERS))


def _other_float(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    _replace(random, lines, _FLOAT, lambda old: random.choice(_FLOATS))


def _other_label(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    known = [*_everything(lines, _LABEL), "$L__nowhere"]
    _replace(random, lines, _LABEL, lambda old: random.choice(known))


def _other_space(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    _replace(random, lines, _SPACE, lambda old: random.choice(_SPACES))


def _vector(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    if random.random() < 0.5:
        _replace(random, lines, re.compile(r"\.v[24]"), lambda old: random.choice((".v2", ".v4", ".v3", "")))
    else:
        _replace(
            random, lines, re.compile(r"(?<=global|shared)\.(?=[busf]\d)"), lambda old: random.choice((".v2.", ".v4."))
        )


def _guard(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    at = _place(random, lines)
    plain = re.sub(r"@!?\S+\s*", "", lines[at], count=1).lstrip()
    registers = _everything(lines, _REGISTER)
    predicates = [each for each in registers if each.startswith("%p")] or registers
    pool = random.choice((predicates, predicates, registers, ["%tid.x", "_", "%nothing"]))
    lines[at] = random.choice(("", f"@{random.choice(pool)} ", f"@!{random.choice(pool)} ")) + plain


def _operands(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    at = _place(random, lines)
    head, _, tail = lines[at].rstrip().rstrip(";").rpartition("\t")
    parts = re.split(r", (?![^{]*\})", tail)
    what = random.randrange(4)
    if what == 0:
        del parts[random.randrange(len(parts))]
    elif what == 1:
        parts.insert(random.randrange(len(parts) + 1), random.choice(parts))
    else:
        random.shuffle(parts)
    lines[at] = f"{head}\t{', '.join(parts)};"


# -- declarations -----------------------------------------------------------------------------------------------------


def _declaration(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    """A type, a size, an alignment or the whole of a declaration."""
    found = [
        at
        for at, line in enumerate(lines)
        if re.search(r"\.(reg|align|param|shared|version|target|entry|func|maxntid)\b", line)
    ]
    if not found:
        return
    at = random.choice(found)
    one = [lines[at]]
    change = random.choice((_other_type, _other_number, _other_number, _other_space))
    if random.random() < 0.3:
        del lines[at]
    else:
        change(random, one, others)
        lines[at] = one[0]


def _size(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    sizes = ("0", "1", "3", "4", "5000", "70000", "1000000", "600000000", "99999999999", "1099511627776", "-4", "")
    _replace(random, lines, re.compile(r"(?<=\w\[)\d+(?=\])"), lambda old: random.choice(sizes))


def _variable(random: Random, lines: Lines, others: Sequence[Lines]) -> None:
    """One more variable, in the module or in a function."""
    new = random.choice((
        ".shared .align 4 .b8 extra[100000];", ".extern .shared .align 16 .b8 extra[];",
        ".local .align 8 .b8 extra[400000];", ".global .align 4 .u32 extra[3] = {1, 2, 3};",
        ".global .u64 extra = generic(extra);", ".const .f32 extra = 0f3F800000;",
        ".global .b8 extra[30000000];", ".global .align 8 .u64 extra[2] = {extra, 5};",
        ".param .b64 extra;", ".reg .b32 extra;", ".reg .b32 %r<3>;", ".reg .f64 %f<300>;",
        ".reg .pred %rd<9>;", ".global .align 4 .b8 extra[2] = {1, 2, 3, 4, 5};", ".shared .b8 extra;",
        ".shared .b8 extra[0];", ".const .b8 extra[4] = {300, -1};", ".global .f32 extra[2][2] = {{1.0}};",
        ".global .b8 extra[] = {1, 2};", ".global .v4 .f32 extra;", ".global .texref extra;",
        ".local .b64 extra[1000];",
    ))  # fmt: skip
    lines.insert(_place(random, lines) if random.random() < 0.7 else min(8, len(lines)), new)


_MUTATIONS: tuple[Mutation, ...] = (
    _delete_line, _delete_line, _double_line, _swap_lines, _swap_lines, _foreign_line, _new_instruction,
    _new_instruction, _new_instruction, _new_instruction, _truncate, _other_register, _other_register,
    _other_register, _similar_register, _similar_register, _odd_register, _other_opcode, _other_opcode,
    _other_type, _other_type, _other_modifier, _other_number, _other_number, _other_float, _other_label,
    _other_label, _other_space, _vector, _guard, _guard, _operands, _declaration, _size, _variable,
)  # fmt: skip
