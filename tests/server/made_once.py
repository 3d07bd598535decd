"""What each application and each engine makes anew and every one of them makes alike, kept for a whole test process.

Nearly every test has an application and a database of its own. Without this, most of its time would go into the same
templates, the same addresses and the same statements being compiled once more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from types import CodeType
from typing import Any

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from sqlalchemy import URL, Engine, create_engine
from werkzeug.routing import Rule

from server.database import engine as database


class _Templates(BytecodeCache):
    """Compiled templates, by their file and text."""

    def __init__(self) -> None:
        self._code: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        assert bucket.code is not None
        self._code[bucket.key, bucket.checksum] = bucket.code


class _Address(Rule):
    """The address of a view. The function that writes it out is compiled once for all applications."""

    _written: dict[Hashable, Callable[..., tuple[str, str]]] = {}  # noqa: RUF012 - what all share

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., tuple[str, str]]:
        known = (self.rule, tuple(self._trace), repr(self.defaults), append_unknown)
        if known not in self._written:
            self._written[known] = super()._compile_builder(append_unknown)
        return self._written[known]


class _Statements:
    """Makes engines, of which all for one kind of database know the statements that one of them compiled.

    They share its dialect, which has the serializer of JSON, and the listeners of its errors: tests of these make
    engines of their own.
    """

    # many times what one process of the portal sends
    _MOST = 5000

    def __init__(self) -> None:
        self._first: dict[str, Engine] = {}

    def create_engine(self, address: URL, **options: Any) -> Engine:
        engine = create_engine(address, **options, query_cache_size=self._MOST)
        kind = address.get_backend_name()
        first = self._first.get(kind)
        # before it has met a database, a dialect does not know what that can do
        if first is None or first.dialect.server_version_info is None:
            self._first[kind] = engine
        else:
            # a statement is kept for one dialect
            engine.dialect = engine.pool._dialect = first.dialect
            engine._compiled_cache = first._compiled_cache
        return engine


def keep() -> None:
    """Keep it from now on, in this process."""
    Flask.jinja_options = {"bytecode_cache": _Templates()}
    Flask.url_rule_class = _Address
    assert "create_engine" in vars(database)
    vars(database)["create_engine"] = _Statements().create_engine
