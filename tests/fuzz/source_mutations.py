"""Changes to a student's file: by characters, tokens, lines, and parts of other files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_TOKEN = re.compile(r"\s+|\w+|//[^\n]*|[-+*/%&|^<>=!]=?|.", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"\b\d\w*\b")
_BYTES = (
    b"\0",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\r",
    b"\r\n",
    b"\\\n",
    b"\t",
    b"\x0c",
    b"\xf0\x9f\x98\x80",
    b"\xed\xa0\x80",
)
_NUMBERS = (
    "0", "1", "2", "-1", "31", "32", "33", "1023", "1024", "65535", "65536", "0x7fffffff", "0xFFFFFFFFu",
    "2147483648", "4294967296", "9223372036854775807", "99999999999999999999999", "0b101", "017", "1e9", "1'000",
    "0x", "08", "1u", "1ull", "0.5f", "9" * 5000,
)  # fmt: skip
_WORDS = (
    "__syncthreads()", "__syncwarp()", "__shared__", "extern", "constexpr", "template<int T>", "static",
    "volatile", "if", "else", "for", "while", "do", "switch", "return", "goto", "break", "continue", "asm",
    "sizeof", "unsigned", "float", "double", "int", "void", "short", "char", "__global__", "__device__",
    "__host__", "__restrict__", "const", "struct", "namespace", "using", "#", "#define", "#if", "#ifdef",
    "#else", "#endif", "#include", "#undef", "#pragma unroll", "#line 1", "/*", "*/", "//", '"', "'",
    'R"(', "\\", "{", "}", "(", ")", "[", "]", "<", ">", "::", ";", ",", "?", ":", "@", "`", "TILE_WIDTH",
    "Width", "threadIdx.x", "blockIdx.y", "blockDim.x", "M", "N", "P", "MatrixMulKernel", "main",
    "cudaMalloc", 'printf("%d %s\\n", Width)', "atomicAdd(&P[0], 1.0f)",
    "__shfl_down_sync(0xffffffff, 1.0f, 1)", "__threadfence()", "assert(Width > 5)", "__trap()",
    "alloca(Width)", "__launch_bounds__(32)", '_Pragma("once")', "__LINE__", "__FILE__", "defined", "%:",
    "??=",
)  # fmt: skip
_EXPRESSIONS = (
    "ceil(Width/TILE_WIDTH)", "Width", "Width/0", "Width%TILE_WIDTH", "-1", "0", "1025", "65536",
    "2147483648", "min(Width,32)", "max(1,2,3)", "(((((1)))))", "1+", "Nothing", "TILE_WIDTH*TILE_WIDTH",
    "0x10", "99999999999999999999", "ceil(1)", "Width*Width*Width*Width*Width", "-(-(-Width))",
    "(" * 300 + "1" + ")" * 300, "1" + "+1" * 2000, "",
)  # fmt: skip

Mutation = Callable[[Random, bytes, Sequence[bytes]], bytes]


def mutated(random: Random, data: bytes, others: Sequence[bytes], *, gentle: bool = False) -> bytes:
    """The file after one to four changes; gentle ones often leave a file that compiles."""
    mutations = _GENTLE if gentle and random.random() < 0.8 else _MUTATIONS
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = random.choice(mutations)(random, data, others)
    return data


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _place(random: Random, length: int) -> int:
    return random.randrange(length + 1)


# -- characters -------------------------------------------------------------------------------------------------------


def _delete_bytes(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = _place(random, len(data))
    return data[:at] + data[at + random.choice((1, 1, 1, 2, 5, 40)) :]


def _insert_bytes(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    at = _place(random, len(data))
    return data[:at] + random.choice((*_BYTES, bytes([random.randrange(256)]))) + data[at:]


def _flip_byte(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << random.randrange(8)]) + data[at + 1 :]


def _truncate(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return data[: _place(random, len(data))]


# -- tokens -----------------------------------------------------------------------------------------------------------


def _with_token(random: Random, data: bytes, change: Callable[[list[str], int], None]) -> bytes:
    tokens = _TOKEN.findall(_text(data))
    places = [at for at, token in enumerate(tokens) if not token.isspace()]
    if places:
        change(tokens, random.choice(places))
    return _bytes("".join(tokens))


def _delete_token(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return _with_token(random, data, lambda tokens, at: tokens.__setitem__(at, " "))


def _double_token(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return _with_token(random, data, lambda tokens, at: tokens.insert(at, tokens[at] + " "))


def _swap_tokens(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    def change(tokens: list[str], at: int) -> None:
        other = random.randrange(len(tokens))
        tokens[at], tokens[other] = tokens[other], tokens[at]

    return _with_token(random, data, change)


def _new_word(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    new = random.choice(_WORDS)
    return _with_token(random, data, lambda tokens, at: tokens.insert(at, f" {new} "))


def _replace_like(random: Random, data: bytes, pattern: re.Pattern[str], choices: Sequence[str]) -> bytes:
    text = _text(data)
    found = list(pattern.finditer(text))
    if not found:
        return data
    chosen = random.choice(found)
    new = random.choice(choices or [match.group() for match in found])
    return _bytes(text[: chosen.start()] + new + text[chosen.end() :])


def _other_name(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """A name where another name of the same file stood: much of this still compiles."""
    return _replace_like(random, data, _WORD, ())


def _other_number(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return _replace_like(random, data, _NUMBER, _NUMBERS)


def _near_number(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return _replace_like(random, data, _NUMBER, ("0", "1", "2", "3", "8", "16", "32"))


def _other_operator(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    choices = (
        "+",
        "-",
        "*",
        "/",
        "%",
        "<",
        "<=",
        ">",
        ">=",
        "==",
        "!=",
        "&&",
        "||",
        "=",
        "+=",
        "<<",
        ">>",
        "&",
        "^",
        "++",
    )
    return _replace_like(random, data, re.compile(r"[-+*/%<>=!&|^]=?"), choices)


# -- lines ------------------------------------------------------------------------------------------------------------


def _with_lines(data: bytes, change: Callable[[list[bytes]], None]) -> bytes:
    lines = data.split(b"\n")
    change(lines)
    return b"\n".join(lines)


def _delete_line(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    return _with_lines(data, lambda lines: lines.__delitem__(random.randrange(len(lines))))


def _double_line(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    def change(lines: list[bytes]) -> None:
        lines.insert(random.randrange(len(lines)), random.choice(lines))

    return _with_lines(data, change)


def _swap_lines(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    def change(lines: list[bytes]) -> None:
        one, two = random.randrange(len(lines)), random.randrange(len(lines))
        lines[one], lines[two] = lines[two], lines[one]

    return _with_lines(data, change)


def _foreign_lines(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    def change(lines: list[bytes]) -> None:
        other = random.choice(others).split(b"\n")
        start = random.randrange(len(other))
        at = random.randrange(len(lines))
        lines[at:at] = other[start : start + random.choice((1, 1, 2, 5, 20))]

    return _with_lines(data, change)


def _cross_over(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    one, two = data.split(b"\n"), random.choice(others).split(b"\n")
    return b"\n".join(one[: _place(random, len(one))] + two[_place(random, len(two)) :])


def _repeat_much(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Deep nesting and long runs, within the size that a file may have."""
    piece = random.choice(
        (b"(", b"{", b"[", b"#if 1\n", b"#define A A\n", b"/*", b"!", b"-", b"<", b"\\\n", b"//!tilelab\n", b"int a;")
    )
    at = _place(random, len(data))
    return data[:at] + piece * random.choice((50, 1_000, 6_000)) + data[at:]


def _launch_comment(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    def expression() -> str:
        return random.choice(_EXPRESSIONS)

    fields = []
    for name in random.choices(("block", "grid", "shared", "tile", "Block", "grid"), k=random.randrange(4)):
        if name == "shared" or random.random() < 0.2:
            fields.append(f"{name}={expression()}")
        else:
            fields.append(f"{name}=({', '.join(expression() for _ in range(random.choice((1, 2, 2, 2, 3, 4))))})")
    comment = f"//!tilelab {random.choice((' ', '  ', ',', '')).join(fields)}"
    at = random.choice((0, 0, data.find(b"\n") + 1, _place(random, len(data))))
    return data[:at] + comment.encode() + random.choice((b"\n", b"\n", b"\r\n", b" ")) + data[at:]


_MUTATIONS: tuple[Mutation, ...] = (
    _delete_bytes, _insert_bytes, _flip_byte, _truncate, _delete_token, _double_token, _swap_tokens, _new_word,
    _other_name, _other_name, _other_name, _other_number, _near_number, _near_number, _other_operator, _other_operator,
    _delete_line, _delete_line, _double_line, _swap_lines, _swap_lines, _foreign_lines, _cross_over, _repeat_much,
    _launch_comment, _launch_comment,
)  # fmt: skip
_GENTLE: tuple[Mutation, ...] = (
    _other_name, _near_number, _other_number, _other_operator, _delete_line, _double_line, _swap_lines, _launch_comment,
)  # fmt: skip
