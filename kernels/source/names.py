"""The values of a file's names, read from its text if that is certain, otherwise evaluated by the compiler."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kernels.source.constants import Constants, Macro, declared_constants, declares
from kernels.source.text import Token, code_of

CALL = "()"
"""The end of a function's name that is used as a constant."""

Evaluated = Mapping[str, tuple[int, ...]]
"""The different values of each evaluated name; none if it isn't a constant."""

Given = frozenset[tuple[str, str]]
"""The macros that Tilelab compiles a file with, each with its text."""


@dataclass(frozen=True, slots=True)
class Evaluations:
    """The compiler's answers for the macros of each case.

    cases: for the cases of a verdict
    others: for other sizes and tiles, such as an analysis's
    """

    cases: Mapping[Given, Evaluated]
    others: Mapping[Given, Evaluated] = field(default_factory=dict)

    def joined(self) -> Evaluated:
        """The different values of each name over all cases; none if it isn't a constant in each case."""
        answers = list(self.cases.values())
        known = {name: [answer[name] for answer in answers if name in answer] for answer in answers for name in answer}
        return {
            name: tuple(sorted({value for each in found for value in each})) if all(found) else ()
            for name, found in known.items()
        }

    def varying(self) -> Mapping[Given, Mapping[str, int]]:
        """The names with one value per case that differs between cases, with these values."""
        tables = {**self.others, **self.cases}
        names = {
            name
            for name in self.joined()
            if all(len(answer.get(name, ())) == 1 for answer in self.cases.values())
            and len({answer.get(name) for answer in tables.values()}) > 1
        }
        return {
            given: {name: answer[name][0] for name in names if len(answer.get(name, ())) == 1}
            for given, answer in tables.items()
        }


@dataclass(frozen=True, slots=True)
class Names:
    """The macros, constants and other names of one file; `names_of` creates it.

    users: for each name, the macros whose definitions mention it
    in_code: the names that code uses outside their declarations
    lines: where the file declares a name: an unguarded macro, a constant, a variable, a template parameter. Other names
        can be given to the compiler as macros without breaking the file.
    evaluated: the compiler's answers over all cases
    varying: names with one value per case that differs between cases
    asked: the names that `values` was asked for and only the compiler knows
    """

    macros: Sequence[Macro]
    tokens: list[Token]
    constants: Constants
    users: Mapping[str, set[str]]
    in_code: frozenset[str]
    lines: Mapping[str, int]
    evaluated: Evaluated = field(default_factory=dict)
    varying: frozenset[str] = frozenset()
    asked: set[str] = field(default_factory=set)

    def with_evaluated(self, evaluations: Evaluations) -> Names:
        """These names with the compiler's answers, which override values from the text."""
        evaluated = evaluations.joined()
        settled = {name: values[0] for name, values in evaluated.items() if len(values) == 1}
        read = self.constants
        constants = Constants(
            {name: value for name, value in read.values.items() if name not in evaluated} | settled,
            {name: text for name, text in read.derived.items() if name not in evaluated},
            read.unsure - settled.keys(),
        )
        varying = {name for table in evaluations.varying().values() for name in table}
        return replace(self, constants=constants, evaluated=evaluated, varying=frozenset(varying))

    def known(self, name: str) -> tuple[int, ...]:
        """The values of a name, usually one; empty if it isn't a constant, or if only the compiler knows."""
        value = self.constants.sure(name)
        return self.evaluated.get(name, ()) if value is None else (value,)

    def values(self, name: str) -> tuple[int, ...]:
        """The known values of a name; it is `asked` if only the compiler knows."""
        if self.constants.sure(name) is None and name not in self.evaluated:
            self.asked.add(name)
        return self.known(name)

    def ask(self, names: Iterable[str]) -> None:
        """Note which of these names the file declares and only the compiler knows."""
        for name in names:
            if self.line(name) is not None:
                self.values(name)

    def line(self, name: str) -> int | None:
        return self.lines.get(name.removesuffix(CALL))

    def used(self, name: str) -> bool:
        """Whether code or another macro uses the name outside its declaration."""
        return name in self.in_code or bool(self.users.get(name, set()) - {name})

    @property
    def code(self) -> str:
        return code_of(token.text for token in self.tokens)

    def mentions(self, code: str) -> bool:
        """Whether the code has these tokens in a row."""
        return f" {code} " in self.code

    def within(self, tokens: list[Token]) -> Names:
        """The same names with their uses in a part of the code."""
        used, lines = _used_and_declared(self.macros, tokens)
        return replace(self, tokens=tokens, in_code=used, lines=lines)

    def built_on(self, name: str) -> set[str]:
        """The macros whose definitions mention the name, and the name itself."""
        name = name.removesuffix(CALL)
        return {name, *self.users.get(name, ())}


def names_of(macros: Sequence[Macro], tokens: list[Token], constants: Constants) -> Names:
    """The names of a file, before the compiler evaluates any."""
    users: dict[str, set[str]] = {}
    for macro in macros:
        for name in macro.names:
            users.setdefault(name, set()).add(macro.name)
    return Names(macros, tokens, constants, users, *_used_and_declared(macros, tokens))


def _used_and_declared(macros: Sequence[Macro], tokens: list[Token]) -> tuple[frozenset[str], Mapping[str, int]]:
    """`Names.in_code` and `Names.lines`."""
    used: set[str] = set()
    lines: dict[str, int] = {}
    for macro in macros:
        if not macro.guarded:
            lines.setdefault(macro.name, macro.line)
    constants = {id(token) for token, _ in declared_constants(tokens)}
    for index, token in enumerate(tokens):
        declared = declares(tokens, index)
        if not declared:
            used.add(token.text)
        if declared or id(token) in constants:
            lines.setdefault(token.text, token.line)
    return frozenset(used), lines
