"""What the files of deploy/ name exists: commands, options, settings, addresses, ports, metrics, files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from prometheus_client.core import Metric

from server.database.engine import connect
from server.operations.metrics import TilelabCollector
from server.operations.presence import InRedis
from server.settings import read_settings
from server.web.app import create_app
from tests.server.deploy.kubernetes import of_kind, workloads
from tests.server.deploy.units import DEPLOY, ROOT, units
from tests.test_docs import problem
from worker.commands.root import tilelab
from worker.contract.broker import read_redis_url
from worker.contract.logging import configure

FILES = [file for file in DEPLOY.rglob("*") if file.is_file() and "secrets" not in file.parts]
PARTS = {name: unit.command for name, unit in units().items() if "Service" in {section for section, _ in unit.settings}}
PARTS |= {name: tuple(it.command) for name, it in workloads().items()}
ENVIRONMENTS = {name: it.environment for name, it in (units() | workloads()).items() if it.environment}
LINE = re.compile(r'(?:^|[\s;/"])tilelab"? ((?:admin|serve|worker) [^|`;\n]*)')


class Asked(dict[str, str]):
    """An environment that knows what was asked of it. A file of secrets holds the one that is given here."""

    def __init__(self, given: dict[str, str]) -> None:
        super().__init__(given)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_each_setting_is_one_that_the_part_reads(name: str, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("redis://host:6379/0")
    given = {key: str(secret) if key.endswith("_FILE") else value for key, value in ENVIRONMENTS[name].items()}
    asked = Asked(given)
    configure(environment=asked)
    if "DATABASE_URL_FILE" in given and "REDIS_URL_FILE" in given:
        # an operator who adds a mail server needs no other file
        asked |= {"TILELAB_SMTP_HOST": "mail.tilelab.example", "TILELAB_MAIL_FROM": "t@tilelab.example"}
        asked |= {"TILELAB_SMTP_USER": "tilelab", "TILELAB_SMTP_PASSWORD_FILE": str(secret)}
        assert read_settings(asked).proxies == int(given.get("TILELAB_PROXIES", 0))
    elif "REDIS_URL_FILE" in given:
        read_redis_url(asked)
    assert {key for key in given if key.startswith(("TILELAB_", "REDIS_"))} <= asked.names


def test_settings_in_comments_and_scripts_exist():
    named = {name for file in FILES for name in re.findall(r"\b(?:TILELAB|DATABASE|REDIS|XDG)_[A-Z_]+\b", read(file))}
    code = "\n".join(read(file) for top in ("kernels", "server", "worker") for file in (ROOT / top).rglob("*.py"))
    quoted = set(re.findall(r'"([A-Z_]+)"', code))
    assert [name for name in named if {name, name.removesuffix("_FILE")}.isdisjoint(quoted)] == []


def read(file: Path) -> str:
    return file.read_text("utf-8")


def lines() -> Iterator[tuple[str, str]]:
    for file in FILES:
        for match in LINE.finditer(read(file).replace("\\\n", " ")):
            yield file.name, match[1].replace("%i", "web")


def test_commands_exist_with_their_options():
    found = list(lines())
    assert len(found) > 5
    assert [(name, line) for name, line in found if problem(words_of(line))] == []
    started = [words for words in PARTS.values() if words[0].rpartition("/")[2] == "tilelab"]
    assert len(started) == 9
    for words in started:
        parsed(words[1:])


def words_of(line: str) -> list[str]:
    return shlex.split(line.strip(" ,[]`'"), comments=True, posix=False)


def parsed(words: tuple[str, ...]) -> dict[str, Any]:
    """The options of a command, with their values checked. Raises click.UsageError."""
    command: click.Command = tilelab
    while isinstance(command, click.Group):
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, words
        command, words = found, words[1:]
    return command.make_context(command.name, list(words)).params


def test_files_and_modules_that_are_started_exist():
    own = [words[0] for words in PARTS.values() if words[0].startswith("/opt/tilelab/deploy/")]
    assert len(own) == 3
    named = {name for file in FILES for name in re.findall(r"(?<!/)\b((?:deploy|bin|docs)/[\w./-]*\w)", read(file))}
    paths = [file.removeprefix("/opt/tilelab/") for file in own] + sorted(named - {"deploy/secrets"})
    assert [path for path in paths if not (ROOT / path).exists() and not (ROOT / ".venv" / path).exists()] == []


def test_ports_are_those_that_the_parts_listen_at():
    port = parsed(("serve", "web"))["port"]
    assert re.findall(r"proxy_pass http://127.0.0.1:(\d+)", read(DEPLOY / "nginx.conf")) == [str(port)]
    assert parsed(tuple(workloads()["web"].command[1:]))["port"] == port
    (there,) = workloads()["web"].container["ports"]
    assert there["containerPort"] == port
    script, addresses = read(DEPLOY / "redis"), read(ROOT / "bin" / "make-secrets")
    (default,) = re.findall(r"port=\$\{2:-(\d+)\}", script)
    assert set(re.findall(r":(\d+)/0", addresses)) == {default}
    assert [each["containerPort"] for each in workloads()["redis"].container["ports"]] == [int(default)]


def test_probes_ask_for_pages_that_there_are(sqlite_url):
    probes = [value for key, value in workloads()["web"].container.items() if key.endswith("Probe")]
    asked = {probe["httpGet"]["path"] for probe in probes}
    assert asked == {"/healthz", "/readyz"}
    rules = {str(rule) for rule in routes(sqlite_url)}
    assert asked <= rules


def routes(sqlite_url: str) -> Iterator[Any]:
    return create_app(read_settings({"DATABASE_URL": sqlite_url, "REDIS_URL": "redis://host/0"})).url_map.iter_rules()


@pytest.fixture
def families(sqlite_url) -> Iterator[list[Metric]]:
    engine = connect(sqlite_url)
    yield list(TilelabCollector(engine, lambda: InRedis({}, 0, 0), backups=ROOT).collect())
    engine.dispose()


def queries() -> list[str]:
    panels = json.loads(read(DEPLOY / "grafana.json"))["panels"]
    scaled = [each["spec"]["triggers"] for each in of_kind("ScaledObject").values()]
    return [
        *(target["expr"] for panel in panels for target in panel["targets"]),
        *(trigger["metadata"]["query"] for triggers in scaled for trigger in triggers),
    ]


def test_queries_ask_for_metrics_and_labels_that_there_are(families):
    labels: dict[str, set[str]] = {}
    for family in families:
        suffix = {"counter": "_total", "histogram": "_bucket"}.get(family.type, "")
        # the families of prometheus_client have them, and Metric doesn't show them
        labels[family.name + suffix] = set(vars(family)["_labelnames"]) | ({"le"} if suffix == "_bucket" else set())
    for query in queries():
        named = re.findall(r"tilelab_\w+", query)
        assert named
        assert set(named) <= labels.keys()
        used = {label for group in re.findall(r"by \(([^)]*)\)", query) for label in group.split(", ")}
        used |= set(re.findall(r"[{,](\w+)=", query))
        assert used - {"instance"} <= set().union(*(labels[name] for name in named)), query


def test_the_dashboard_shows_every_metric(families):
    shown = {name for query in queries() for name in re.findall(r"tilelab_\w+", query)}
    assert {family.name for family in families} == {re.sub("_(total|bucket)$", "", name) for name in shown}
    panels = json.loads(read(DEPLOY / "grafana.json"))["panels"]
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels]
    assert len(set(places)) == len(panels)
    for panel in panels:
        used = {label for target in panel["targets"] for label in re.findall(r"{{(\w+)}}", target["legendFormat"])}
        given = {label for target in panel["targets"] for label in re.findall(r"\w+", target["expr"])}
        assert used <= given


def test_host_names_are_examples_or_of_the_cluster():
    hosts = {host for file in FILES for host in re.findall(r"(?:\w+://|@)([a-z][\w.-]*\.[a-z]{2,})", read(file))}
    hosts |= {host for file in FILES for host in re.findall(r"server_name (.*);", read(file))}
    assert [host for host in hosts if not host.endswith((".example", ".svc"))] == []
