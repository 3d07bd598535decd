"""What access_matrix.toml says: who gets what at which address."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

_MATRIX = tomllib.loads(Path(__file__).with_name("access_matrix.toml").read_text("utf-8"))
ROLES: tuple[str, ...] = tuple(_MATRIX["roles"])


def routes() -> Iterator[tuple[str, str, str, Mapping[str, object]]]:
    """Method, address, endpoint, what each role gets."""
    for policy, found in _MATRIX["routes"].items():
        for address, endpoint in found.items():
            method, _, path = address.partition(" ")
            yield method, path, endpoint, _expected(policy)


def _expected(policy: str) -> Mapping[str, object]:
    """What each role gets."""
    said = dict(_MATRIX["policy"][policy])
    under = _expected(str(said.pop("of"))) if "of" in said else {}
    usual = said.pop("*", None)
    return {role: said.get(role, under.get(role, usual)) for role in ROLES}
