"""The words for kinds of inputs and for cases, the same on pages, in commands and in handouts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from kernels.exercise.model import InputKind


@dataclass(frozen=True, slots=True)
class InputWords:
    """A kind of inputs in words."""

    title: str
    meaning: str


INPUT_WORDS: Mapping[str, InputWords] = {
    InputKind.INTEGERS_LEFT: InputWords(
        "whole numbers, left", "large whole numbers in the left matrix, small ones in the right"
    ),
    InputKind.INTEGERS_RIGHT: InputWords(
        "whole numbers, right", "large whole numbers in the right matrix, small ones in the left"
    ),
    InputKind.PERMUTATION: InputWords(
        "full precision", "numbers with all digits of their type, times a matrix that only moves and scales them"
    ),
    InputKind.REAL: InputWords("real numbers", "real numbers in short sums, compared within an error bound"),
    InputKind.INTEGERS: InputWords("whole numbers", "whole numbers whose sums are exact in any order"),
    InputKind.RANDOM: InputWords("random", "random values of the kinds that the exercise declares for its arrays"),
    InputKind.EQUAL: InputWords("all equal", "random values, all elements of an array equal"),
    InputKind.ASCENDING: InputWords("ascending", "random values in ascending order"),
    InputKind.DESCENDING: InputWords("descending", "random values in descending order"),
    InputKind.TIES: InputWords("ties", "random values with at most four different ones in an array"),
    InputKind.MANTISSAS: InputWords("full precision", "numbers that don't fit into a format narrower than float"),
}


def case_parts(name: str) -> tuple[str, str]:
    """The size and the kind of inputs in a case's name; the kind is "" in other names."""
    size, _, kind = name.rpartition(" ")
    return (size, kind) if kind in INPUT_WORDS else (name, "")


def case_sizes(name: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"=(\d+)", name)))


def case_words(name: str) -> str:
    """A case's name in words, such as `Width=17, real numbers`."""
    size, kind = case_parts(name)
    return f"{size}, {INPUT_WORDS[kind].title}" if kind else size
