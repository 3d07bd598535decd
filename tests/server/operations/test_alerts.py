"""The alert rules ask for metrics that exist, and the reference lists every metric. tests/alerts tries the rules."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
import yaml
from prometheus_client.core import Metric
from sqlalchemy import Engine

from server.database.engine import Sessions, connect
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis
from tests.alerts.recording import FILE, read
from tests.server.compose_file import ROOT
from tests.server.course import ACourse

RULES = yaml.safe_load((ROOT / "docs" / "alerts.yml").read_text())["groups"][0]["rules"]
PAGE = (ROOT / "docs" / "server-reference.md").read_text()
NAME = re.compile(r"tilelab_[a-z_]+")


@pytest.fixture
def families(sqlite_url) -> Iterator[list[Metric]]:
    engine = connect(sqlite_url)
    yield list(TilelabCollector(engine, lambda: InRedis({}, 0, 0), backups=ROOT).collect())
    engine.dispose()


def names(families: list[Metric]) -> set[str]:
    """As a query has them."""
    return {f"{each.name}_total" if each.type == "counter" else each.name for each in families}


def test_rules_ask_for_what_there_is_and_say_what_to_do(families):
    for rule in RULES:
        asked = NAME.findall(rule["expr"])
        assert asked
        assert set(asked) <= names(families)
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["action"]


def test_every_metric_is_explained_and_no_other(families):
    chapter = PAGE.partition("## Metrics and alerts")[2].partition("\n## ")[0]
    assert {match for match in NAME.findall(chapter) if match != "tilelab_"} == names(families)


def test_the_recording_of_failures_has_every_metric_and_no_other(families):
    recorded = {series for columns in read(FILE.read_text()).values() for series in columns}
    found = {re.sub("_(bucket|count|sum)$", "", series.partition("{")[0]) for series in recorded - {"up"}}
    assert found == names(families) - {"tilelab_gpu_busy_seconds_total"}, "no GPU was there"


def test_queues_of_assignments_are_told_before_anything_is_in_them(made: Sessions, engine: Engine) -> None:
    ACourse.make(made)
    samples = [
        each for family in TilelabCollector(engine, lambda: InRedis({}, 0, 0)).collect() for each in family.samples
    ]
    assert {each.name for each in samples if each.labels.get("queue") == "gpu.h200"} >= {
        "tilelab_steps_waiting",
        "tilelab_oldest_waiting_seconds",
        "tilelab_steps_in_flight",
        "tilelab_slots",
    }
