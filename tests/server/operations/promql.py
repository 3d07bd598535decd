"""As much of Prometheus's query language as the alert rules use, evaluated on samples made up for a test."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Samples = Mapping[tuple[str, Labels], float]

_TOKEN = re.compile(r"\s*(\d+\.?\d*(?![\w.])|[A-Za-z_]\w*|==|>=|<=|!=|[<>+*(){},=]|\"[^\"]*\"|\[\w+\])")
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt, "<": operator.lt, "==": operator.eq, "!=": operator.ne, ">=": operator.ge, "<=": operator.le,
}  # fmt: skip
_AGGREGATE: Mapping[str, Callable[[list[float]], float]] = {"max": max, "min": min, "sum": sum}


def evaluate(text: str, now: Samples, before: Samples) -> Vector:
    """What the expression gives; a rule fires for each element. before: the samples at the start of every range."""
    query = _Query(text, now, before)
    found = query.alternatives()
    assert not query.rest, f"not understood: {query.rest}"
    assert isinstance(found, dict)
    return found


class _Query:
    def __init__(self, text: str, now: Samples, before: Samples) -> None:
        assert not _TOKEN.sub("", text).strip(), f"not understood: {text}"
        self.rest = _TOKEN.findall(text)
        self._now, self._before = now, before

    def alternatives(self) -> Vector | float:
        found = self._both()
        while self._takes("or"):
            assert isinstance(found, dict)
            found = {**_vector(self._both()), **found}
        return found

    def _both(self) -> Vector | float:
        found = self._comparison()
        while self._takes("and"):
            names = self._matched_on()
            keys = {_only(each, names) for each in _vector(self._comparison())}
            found = {each: value for each, value in _vector(found).items() if _only(each, names) in keys}
        return found

    def _comparison(self) -> Vector | float:
        found = self._sum()
        if self.rest and self.rest[0] in _COMPARE:
            holds, bound = _COMPARE[self.rest.pop(0)], self._sum()
            bounds = dict.fromkeys(_vector(found), bound) if isinstance(bound, float) else bound
            items = _vector(found).items()
            return {each: value for each, value in items if each in bounds and holds(value, bounds[each])}
        return found

    def _sum(self) -> Vector | float:
        found = self._product()
        while self._takes("+"):
            names = self._matched_on()
            others = {_only(each, names): value for each, value in _vector(self._product()).items()}
            pairs = ((_only(each, names), value) for each, value in _vector(found).items())
            found = {key: value + others[key] for key, value in pairs if key in others}
        return found

    def _product(self) -> Vector | float:
        found = self._operand()
        while self._takes("*"):
            assert isinstance(found, float)
            found = {each: found * value for each, value in _vector(self._operand()).items()}
        return found

    def _operand(self) -> Vector | float:
        word = self.rest.pop(0)
        if word[0].isdigit():
            return float(word)
        if word == "(":
            return self._closed()
        if word in _AGGREGATE:
            names = self._list() if self._takes("by") else frozenset()
            assert self._takes("(")
            groups: dict[Labels, list[float]] = {}
            for each, value in _vector(self._closed()).items():
                groups.setdefault(_only(each, names), []).append(value)
            return {key: _AGGREGATE[word](values) for key, values in groups.items()}
        if word == "increase":
            assert self._takes("(")
            name, wanted = self.rest.pop(0), self._selector()
            assert self.rest.pop(0).startswith("[")
            assert self._takes(")")
            begun = _selected(self._before, name, wanted)
            return {key: value - begun.get(key, value) for key, value in _selected(self._now, name, wanted).items()}
        return _selected(self._now, word, self._selector())

    def _closed(self) -> Vector | float:
        found = self.alternatives()
        assert self._takes(")")
        return found

    def _selector(self) -> Labels:
        wanted = set()
        if self._takes("{"):
            while not self._takes("}"):
                name, equals, value = (self.rest.pop(0) for _ in range(3))
                assert equals == "="
                wanted.add((name, value.strip('"')))
                self._takes(",")
        return frozenset(wanted)

    def _matched_on(self) -> frozenset[str]:
        assert self._takes("on")
        return self._list()

    def _list(self) -> frozenset[str]:
        assert self._takes("(")
        names = set()
        while not self._takes(")"):
            names.add(self.rest.pop(0))
            self._takes(",")
        return frozenset(names)

    def _takes(self, word: str) -> bool:
        if self.rest and self.rest[0] == word:
            self.rest.pop(0)
            return True
        return False


def _selected(samples: Samples, name: str, wanted: Labels) -> Vector:
    return {labels: value for (metric, labels), value in samples.items() if metric == name and wanted <= labels}


def _only(labels: Labels, names: frozenset[str]) -> Labels:
    return frozenset(each for each in labels if each[0] in names)


def _vector(found: Vector | float) -> Vector:
    assert isinstance(found, dict)
    return found
