"""The alert rules and the operators' page speak of metrics that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from prometheus_client.core import Metric

from server.database.engine import connect
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis
from tests.server.compose_file import ROOT

RULES = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"][0]["rules"]
PAGE = (ROOT / "docs" / "operators.md").read_text()
NAME = re.compile(r"tilelab_[a-z_]+")


@pytest.fixture
def families(sqlite_url) -> Iterator[list[Metric]]:
    engine = connect(sqlite_url)
    yield list(TilelabCollector(engine, lambda: InRedis({}, 0, 0)).collect())
    engine.dispose()


def names(families: list[Metric]) -> set[str]:
    """As a query has them."""
    return {f"{each.name}_total" if each.type == "counter" else each.name for each in families}


def test_rules_ask_for_what_there_is_and_say_what_to_do(families):
    assert len(RULES) == 5
    for rule in RULES:
        asked = NAME.findall(rule["expr"])
        assert asked
        assert set(asked) <= names(families)
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def test_every_metric_is_explained_and_no_other(families):
    chapter = PAGE.partition("## Metrics and alerts")[2].partition("\n## ")[0]
    assert {match for match in NAME.findall(chapter) if match != "tilelab_"} == names(families)
