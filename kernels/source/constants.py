"""The integer macros and constants of a file, and the names that it declares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from kernels.expression import LONGEST, Expression, ExpressionError, value_of
from kernels.source.conditions import VisibleItem, visible_items
from kernels.source.text import Directive, Item, Kind, Token, closing, code_of, split_at_commas

_TYPES = {
    "int", "unsigned", "signed", "long", "short", "char", "auto", "size_t", "uint",
    "int32_t", "uint32_t", "int64_t", "uint64_t", "static", "const", "constexpr", "inline", "__device__",
    "__constant__", "std", "::",
}  # fmt: skip
_MOST_EXPANSIONS = 200_000
_DEEPEST_MACRO = 32
# A declaration or enumeration with more tokens than this is ignored. Tile sizes have short ones.
_LONGEST_DECLARATION = 400
# After one of these words, a name is used, not declared.
_EXPRESSION_WORDS = {"return", "case", "sizeof", "throw", "else", "do", "goto", "and", "or", "not", "co_return"}


@dataclass(frozen=True, slots=True)
class Macro:
    """One #define.

    guarded: whether it only applies if the name isn't defined yet
    certain: whether the compiler certainly sees it
    """

    name: str
    line: int
    function_like: bool
    body: tuple[Token, ...]
    guarded: bool
    certain: bool

    @property
    def texts(self) -> list[str]:
        return [token.text for token in self.body]

    @property
    def names(self) -> set[str]:
        return {token.text for token in self.body if token.kind is Kind.NAME}


def find_macros(seen: Sequence[VisibleItem], together: AbstractSet[str] = frozenset()) -> list[Macro]:
    """Every #define that the compiler may see. together: names that are all defined if one of them is."""
    macros = []
    for entry in seen:
        if isinstance(entry.item, Directive) and entry.item.name == "define" and entry.item.tokens:
            name, *body = entry.item.tokens
            function_like = bool(body) and body[0].text == "(" and body[0].glued
            guards = together if name.text in together else {name.text}
            guarded = not guards.isdisjoint(entry.undefined)
            macros.append(Macro(name.text, entry.item.line, function_like, tuple(body), guarded, entry.certain))
    return macros


def own_defaults(items: Sequence[Item], macros: Sequence[Macro], given: frozenset[str]) -> dict[str, tuple[int, int]]:
    """The value and line of each of the given macros that a file sets itself inside `#ifndef`.

    Left out are values that the text alone doesn't give.
    """
    if not any(macro.guarded and macro.name in given for macro in macros):
        return {}  # without reading the conditions again
    found: dict[str, set[int | None]] = {}
    lines: dict[str, int] = {}
    for macro in find_macros(visible_items(items, given)):
        if macro.certain and macro.guarded and macro.name in given and not macro.function_like:
            found.setdefault(macro.name, set()).add(value_of(code_of(macro.texts), {}))
            lines[macro.name] = macro.line
    alone = {name: values.pop() for name, values in found.items() if len(values) == 1}
    return {name: (value, lines[name]) for name, value in alone.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Constants:
    """The integers of a file.

    values: by name
    derived: integers that depend on Tilelab's macros, in their order
    unsure: names whose value may differ for the compiler
    """

    values: Mapping[str, int]
    derived: Mapping[str, Expression]
    unsure: frozenset[str] = frozenset()

    def sure(self, name: str) -> int | None:
        """The value of a name, or None if it isn't certain."""
        return None if name in self.unsure else self.values.get(name)


def find_constants(
    seen: Sequence[VisibleItem], macros: Sequence[Macro], given: frozenset[str], kept: AbstractSet[str]
) -> Constants:
    """Names with one integer value: object-like macros, `const`/`constexpr` integers, enumerators.

    A name with two values in the file is left out. So is a guarded macro that Tilelab sets. Names built on it have no
    value before a case is chosen.

    given: names that Tilelab defines unless the file does
    kept: the given names whose guarded definition in the file counts
    """
    left = given - kept
    own = [macro for macro in macros if not macro.function_like and not (macro.guarded and macro.name in left)]
    reader = _Reader({macro.name: macro for macro in own}, left, _doubtful_names(seen, macros, given))
    for macro in own:
        reader.note(macro.name, macro.texts, {})
    for name, body in declared_constants([entry.item for entry in seen if isinstance(entry.item, Token)]):
        reader.note(name.text, body, reader.values)
    return Constants(reader.values, reader.derived, frozenset(reader.unsure))


def _doubtful_names(seen: Sequence[VisibleItem], macros: Sequence[Macro], given: AbstractSet[str]) -> set[str]:
    """Names whose meaning may change within the file.

    Their declaration may be skipped by the compiler, they are undefined again, or they aren't only constants. A guarded
    definition of a given name doesn't change it.
    """
    doubtful = {macro.name for macro in macros if not macro.certain and not (macro.guarded and macro.name in given)}
    tokens, sure = [], []
    for entry in seen:
        if isinstance(entry.item, Token):
            tokens.append(entry.item)
            sure.append(entry.certain)
        elif isinstance(entry.item, Directive) and entry.item.name == "undef":
            doubtful |= {token.text for token in entry.item.tokens[:1]}
    constants = {id(name) for name, _ in declared_constants(tokens)}
    for index, token in enumerate(tokens):
        certain = sure[index] and id(token) in constants
        if not certain and token.kind is Kind.NAME and declares(tokens, index):
            doubtful.add(token.text)
    return doubtful


class _Reader:
    """Collects values. The budget bounds the work, because nested macros can grow exponentially."""

    def __init__(self, objects: Mapping[str, Macro], given: frozenset[str], doubtful: set[str]) -> None:
        self.values: dict[str, int] = {}
        self.derived: dict[str, Expression] = {}
        self.unsure = doubtful
        self._given = given
        self._objects = objects
        self._ambiguous: set[str] = set()
        self._budget = _MOST_EXPANSIONS

    def note(self, name: str, body: Sequence[str], known: Mapping[str, int]) -> None:
        """Record the value of a body if it is an integer."""
        texts: list[str] = []
        if not self.unsure.isdisjoint(body):
            self.unsure.add(name)
        if name in self._ambiguous or not self._expand(body, frozenset({name}), texts):
            return
        try:
            expression = Expression.parse(code_of(texts))
            if not expression.names <= known.keys():
                self._note_derived(name, expression, known)
                return
            value = expression.evaluate(known)
        except ExpressionError:
            return
        if self.values.setdefault(name, value) != value or name in self.derived:
            self._drop(name)

    def _note_derived(self, name: str, expression: Expression, known: Mapping[str, int]) -> None:
        """Record a body whose value depends on Tilelab's macros."""
        if not expression.names <= self._given | known.keys() | self.derived.keys():
            return
        if self.derived.setdefault(name, expression).text != expression.text or name in self.values:
            self._drop(name)

    def _drop(self, name: str) -> None:
        self.values.pop(name, None)
        self.derived.pop(name, None)
        self._ambiguous.add(name)

    def _expand(self, body: Sequence[str], hidden: frozenset[str], texts: list[str]) -> bool:
        """Append the texts of a body with its macros replaced; False if that grows too long or deep."""
        for text in body:
            self._budget -= 1
            if text in self.unsure:
                self.unsure |= hidden
            if self._budget < 0 or len(texts) > LONGEST or len(hidden) > _DEEPEST_MACRO:
                return False
            macro = self._objects.get(text)
            if macro is None or text in hidden:
                texts.append(text.replace("'", ""))
            elif not self._expand(macro.texts, hidden | {text}, texts):
                return False
        return True


def declared_constants(tokens: list[Token]) -> Iterator[tuple[Token, list[str]]]:
    """The name and initialiser of each constant and enumerator."""
    for index, token in enumerate(tokens):
        if token.text in {"const", "constexpr"}:
            yield from _initialised(tokens, index)
        elif token.text == "enum":
            yield from _enumerators(tokens, index)


def _initialised(tokens: list[Token], start: int) -> Iterator[tuple[Token, list[str]]]:
    """`const int A = 1, B = 2;` and `const int A{1};` from the `const`."""
    nearby = tokens[start : start + _LONGEST_DECLARATION]
    first = next((i for i, token in enumerate(nearby) if token.text not in _TYPES), len(nearby))
    last = next((i for i, token in enumerate(nearby) if token.text in {";", "{", "}", ")"}), len(nearby))
    for part in split_at_commas(nearby[first:last]):
        if len(part) > 2 and part[0].kind is Kind.NAME and part[1].text == "=":
            yield part[0], [token.text for token in part[2:]]
    if last > first and first + 1 < len(nearby) and nearby[first + 1].text in {"{", "("}:
        inside = nearby[first + 2 : closing(nearby, first + 1) - 1]
        if inside and nearby[first].kind is Kind.NAME:
            yield nearby[first], [token.text for token in inside]


def _enumerators(tokens: list[Token], start: int) -> Iterator[tuple[Token, list[str]]]:
    """`enum { A = 1, B }` from its `enum`; the value of B is 1 + 1."""
    nearby = tokens[start : start + _LONGEST_DECLARATION]
    opening = next((i for i, token in enumerate(nearby[:8]) if token.text in {"{", ";"}), None)
    if opening is None or nearby[opening].text == ";":
        return
    value, offset = ["0"], 0
    for part in split_at_commas(nearby[opening + 1 : closing(nearby, opening) - 1]):
        if not part or part[0].kind is not Kind.NAME:
            return
        if len(part) > 2 and part[1].text == "=":
            value, offset = [token.text for token in part[2:]], 0
        yield part[0], ["(", *value, ")", "+", str(offset)]
        offset += 1


def declares(tokens: Sequence[Token], index: int) -> bool:
    """Whether the name at `index` follows a type or is initialised."""
    before = tokens[index - 1] if index else None
    after = tokens[index + 1].text if index + 1 < len(tokens) else ""
    follows_type = before is not None and before.kind is Kind.NAME and before.text not in _EXPRESSION_WORDS
    return follows_type or after == "="
