from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from kernels.device.tensor.forms import Multiplication, multiplication
from kernels.device.tensor.multiplication import Kinds, multiply_add
from tests.gpu.tensors import RECORDED, computed, given, opcodes
from tests.kernels.device.tensor.matrices import matrices
from tests.kernels.device.tensor.plain import element, number

_MEASURED = Path(__file__).with_name("h200.npz")
_FLOATS = {
    "f32": [("f16", "f16"), ("bf16", "bf16"), ("tf32", "tf32"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("e4m3", "e4m3")],
    "f16": [("f16", "f16"), ("e4m3", "e5m2"), ("e5m2", "e5m2")],
}
_ALL = [
    *(Kinds(d, a, b, d) for d, pairs in _FLOATS.items() for a, b in pairs),
    *(Kinds(d, a, b, d, eights=True) for d, pairs in _FLOATS.items() for a, b in pairs if a[0] == "e"),
    Kinds("f32", "tf32", "tf32", "f32", block=4),
    *(Kinds("s32", f"{a}{bits}", f"{b}{bits}", "s32", saturates)
      for a in "su" for b in "su" for bits in (4, 8) for saturates in (False, True)),
    *(Kinds("s32", "b1", "b1", "s32", combine=combine) for combine in ("and", "xor")),
]  # fmt: skip


def _form(opcode: str) -> Multiplication:
    form = multiplication(opcode)
    assert form is not None
    return form


@pytest.mark.one_in(4, "a quarter; the products of a GPU are there for each opcode")
@pytest.mark.parametrize(
    "kinds", _ALL, ids=lambda kinds: f"{kinds.d}-{kinds.a}-{kinds.b}-{kinds.saturates}-{kinds.combine}-{kinds.block}"
)
def test_a_product_is_the_plain_one(kinds: Kinds) -> None:
    rng = np.random.default_rng(7)
    a, b = (matrices(kind, (40, 2, 16), rng) for kind in (kinds.a, kinds.b))
    c = matrices(kinds.c, (40, 2, 2), rng, addend=True)
    found = multiply_add(kinds, a, b, c)
    for at, row, column in np.ndindex(found.shape):
        expected = element(kinds, a[at, row].tolist(), b[at, column].tolist(), int(c[at, row, column]))
        assert int(found[at, row, column]) == expected, (at, row, column)


# MMA-Sim (arXiv 2511.10909) publishes rules for Hopper: the exponents of the inputs' smallest normal numbers, 25 bits
# behind the largest exponent of all terms, or 13 for 8-bit floats.
_SMALLEST = {"f16": -14, "bf16": -126, "tf32": -126, "f32": -126, "e4m3": -6, "e5m2": -14}


def _as_published(bits: int, kind: str) -> tuple[float, int]:
    """A significand and its exponent."""
    significand, exponent = math.frexp(float(number(bits, kind).value))
    lowest = _SMALLEST[kind]
    if exponent - 1 < lowest:
        significand, exponent = math.ldexp(significand, exponent - 1 - lowest), lowest + 1
    return (2 * significand, exponent - 1) if significand else (0.0, -126)


def _published(kinds: Kinds, a: list[int], b: list[int], c: int) -> int:
    terms = [_as_published(c, kinds.c)]
    for one, other in zip(a, b, strict=True):
        (x, up), (y, more) = _as_published(one, kinds.a), _as_published(other, kinds.b)
        terms.append((x * y, up + more))
    kept, top = 13 if kinds.eights else 25, max(exponent for _, exponent in terms)
    total = sum(math.trunc(math.ldexp(x, kept + exponent - top)) for x, exponent in terms)
    value, exponent = math.frexp(math.ldexp(total, top - kept))
    places = (10 if kinds.d == "f16" else kept if kinds.eights else 23) - max(_SMALLEST[kinds.d] - exponent + 1, 0)
    whole = math.ldexp(value, places + 1)
    result = math.ldexp(round(whole) if kinds.d == "f16" else math.trunc(whole), exponent - places - 1)
    with np.errstate(over="ignore"):
        if kinds.d == "f16":
            return int(np.float64(result).astype(np.float16).view(np.uint16))
        return int(np.float64(result).astype(np.float32).view(np.uint32))


@pytest.mark.one_in(3, "the products of a GPU are there for each opcode")
@pytest.mark.parametrize(
    "kinds", [each for each in _ALL if not each.block and (each.eights or each.a in {"f16", "bf16", "tf32"})], ids=str
)
def test_a_product_follows_the_published_rules(kinds: Kinds) -> None:
    rng = np.random.default_rng(11)
    a, b = (matrices(kind, (60, 2, 16), rng) for kind in (kinds.a, kinds.b))
    c = matrices(kinds.c, (60, 2, 2), rng, addend=True)
    found = multiply_add(kinds, a, b, c)
    for at, row, column in np.ndindex(found.shape):
        given = [(a[at, row], kinds.a), (b[at, column], kinds.b), (c[at, row, column : column + 1], kinds.c)]
        numbers = [number(each, kind) for part, kind in given for each in part.tolist()]
        if not any(each.nan or each.infinity for each in numbers):
            expected = _published(kinds, a[at, row].tolist(), b[at, column].tolist(), int(c[at, row, column]))
            assert int(found[at, row, column]) == expected, (at, row, column)


def test_whole_numbers_take_the_short_way_to_the_same_bits() -> None:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-60, 61, (50, 8, 16)).astype(np.float16).view(np.uint16) for _ in range(2))
    c = rng.integers(-1000, 1000, (50, 8, 8)).astype(np.float32).view(np.uint32)
    kinds = Kinds("f32", "f16", "f16", "f32")
    short = multiply_add(kinds, a, b, c)
    # With one number that isn't whole, all of them go the long way.
    halves = np.full((1, 8, 16), 0x3800, np.uint16)
    long = multiply_add(kinds, np.concatenate((a, halves)), np.concatenate((b, b[:1])), np.concatenate((c, c[:1])))
    assert (long[:-1] == short).all()


@pytest.mark.one_in(2, "every second opcode")
@pytest.mark.parametrize("opcode", list(opcodes()))
def test_a_product_is_that_of_a_gpu(opcode: str) -> None:
    form = _form(opcode)
    with np.load(_MEASURED) as measured:
        expected = measured[opcode]
    found = computed(form, given(form, RECORDED, 0))
    if form.kinds.d == "f64":
        found, expected = (np.where(np.isnan(each.view(np.float64)), 0, each) for each in (found, expected))
    assert (found == expected).all()
