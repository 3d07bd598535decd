"""The compose file: what the specification allows, and what is promised of every container."""

from __future__ import annotations

import importlib.resources
import json
import re
import stat
import subprocess
from fnmatch import fnmatch

import click
import jsonschema
import pytest
import yaml

from tests.server.compose_file import ROOT, Service, services, text
from worker.commands.worker.start import start
from worker.contract.credential import read_credential
from worker.slots import supervisor

SERVICES = services()
OURS = [name for name, each in SERVICES.items() if "build" in each.plain]
WORKERS = ["worker", "worker-gpu"]
TLS = yaml.safe_load((ROOT / "deploy" / "compose-tls.yml").read_text())
DOCKERFILE = (ROOT / "Dockerfile").read_text()

each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


@pytest.mark.parametrize("plain", [text(), TLS], ids=["alone", "tls"])
def test_it_is_what_the_specification_allows(plain):
    assert allowed(plain)
    for wrong in ({"comand": ["true"]}, {"read_only": ["yes"]}):
        services = {name: {**each, **wrong} for name, each in plain["services"].items()}
        assert not allowed({**plain, "services": services})


def allowed(plain) -> bool:
    schema = importlib.resources.files("check_jsonschema") / "builtin_schemas/vendor/compose-spec.json"
    return jsonschema.Draft202012Validator(json.loads(schema.read_text())).is_valid(plain)


def test_with_tls_each_service_that_reaches_redis_trusts_its_certificate():
    reaching = {name for name, each in SERVICES.items() if {"broker", "workers"} & set(each.plain["networks"])}
    assert TLS["services"].keys() == reaching
    assert all("redis_certificate" in each["secrets"] for each in TLS["services"].values())
    assert {name for name, each in TLS["services"].items() if "redis_key" in each["secrets"]} == {"redis"}
    # Redis has the certificate's name in each network in which it had its own
    networks = TLS["services"]["redis"]["networks"]
    assert set(SERVICES["redis"].plain["networks"]) == {name for name, each in networks.items() if "aliases" in each}


def test_the_services_are_those_of_an_installation():
    assert set(SERVICES) == {
        "web", "dispatcher", "recorder", "migrate", "worker", "worker-gpu", "redis", "postgres",
    }  # fmt: skip


@each_service
def test_nothing_runs_as_root_or_may_gain_a_right(service: Service):
    user, _, group = service.plain["user"].partition(":")
    assert int(user) > 0
    assert int(group) > 0
    assert service.plain["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service.plain["security_opt"]
    assert not {"privileged", "cap_add", "pid", "ipc", "network_mode", "userns_mode", "devices"} & set(service.plain)


@each_service
def test_nothing_is_written_but_temporary_files_and_the_database(service: Service):
    assert service.plain["read_only"] is True
    assert any(mount.startswith("/tmp:size=") for mount in service.plain["tmpfs"])
    assert service.plain.get("volumes", []) == (["database:/var/lib/postgresql"] if service.name == "postgres" else [])


@each_service
def test_each_has_bounds_and_comes_back(service: Service):
    limits = service.plain["deploy"]["resources"]["limits"]
    assert limits["memory"]
    assert limits["pids"]
    assert service.plain["restart"] == ("no" if service.name == "migrate" else "unless-stopped")
    assert service.plain["logging"]["options"]["max-size"]
    assert ("healthcheck" in service.plain) == (service.name != "migrate")


@each_service
def test_secrets_come_from_files_that_the_service_was_given(service: Service):
    given = {f"/run/secrets/{name}" for name in service.plain.get("secrets", [])}
    named = {value for name, value in service.environment.items() if name.endswith("_FILE")}
    assert named <= given
    assert not [
        name for name in service.environment if re.fullmatch(r".*((?<!PUBLIC_)URL|PASSWORD|TOKEN|SECRET)", name)
    ]


def test_the_portal_tells_its_metrics_for_a_token_only():
    web = SERVICES["web"]
    assert web.environment["TILELAB_METRICS_TOKEN_FILE"] == "/run/secrets/metrics_token"
    others = [each for name, each in SERVICES.items() if name != "web"]
    assert not [each.name for each in others if "metrics_token" in each.plain.get("secrets", [])]


@pytest.mark.parametrize(("name", "secret"), [("worker", "worker_cpu"), ("worker-gpu", "worker_gpu")])
def test_a_worker_has_its_own_address_and_nothing_else(name, secret):
    worker = SERVICES[name]
    assert worker.plain["secrets"] == [secret]
    assert worker.plain["networks"] == ["workers"]
    assert set(worker.environment) == {"REDIS_URL_FILE", "TILELAB_LOG"}


def test_only_the_server_reaches_the_database_and_only_the_portal_is_seen_from_outside():
    networks = text()["networks"]
    assert {name for name, network in networks.items() if not network.get("internal")} == {"front"}
    on = {
        network: {name for name, each in SERVICES.items() if network in each.plain["networks"]} for network in networks
    }
    assert on["database"] == {"web", "dispatcher", "recorder", "migrate", "postgres"}
    assert on["workers"] == {"worker", "worker-gpu", "redis"}, "a worker can't reach the portal"
    assert on["front"] == {"web", "dispatcher"}, "the dispatcher sends e-mail"
    assert {name for name, each in SERVICES.items() if "ports" in each.plain} == {"web"}
    assert SERVICES["web"].plain["ports"] == ["127.0.0.1:8000:8000"]


@pytest.mark.parametrize("name", ["web", "dispatcher", "recorder"])
def test_the_server_waits_for_its_tables(name):
    assert SERVICES[name].plain["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}
    assert SERVICES["migrate"].plain["depends_on"]["postgres"] == {"condition": "service_healthy"}


@pytest.mark.parametrize("name", WORKERS)
def test_a_worker_is_not_killed_while_it_hands_over_what_it_does(name):
    grace = next(each for each in start.params if each.name == "grace").get_default(click.Context(start))
    assert isinstance(grace, float)
    needed = grace + supervisor._LEAVE_SECONDS + supervisor._KILL_SECONDS
    assert SERVICES[name].seconds("stop_grace_period") >= needed + 15


def test_a_gpu_is_asked_for_only_by_its_profile():
    assert {name for name, each in SERVICES.items() if "profiles" in each.plain} == {"worker-gpu"}
    (device,) = SERVICES["worker-gpu"].plain["deploy"]["resources"]["reservations"]["devices"]
    assert device["capabilities"] == ["gpu"]
    assert "reservations" not in SERVICES["worker"].plain["deploy"]["resources"]


def test_images_are_of_named_versions():
    images = [each.plain["image"] for name, each in SERVICES.items() if name not in OURS]
    assert all(re.fullmatch(r"[\w/]+:\d+(\.\d+)*", image) for image in images)
    assert all(each.plain["build"]["target"] in targets() for name, each in SERVICES.items() if name in OURS)


def targets() -> list[str]:
    return re.findall(r"^FROM \S+ AS (\S+)$", DOCKERFILE, flags=re.MULTILINE)


def test_images_install_what_is_locked_by_hash():
    version = re.search(r"^ARG PYTHON=(.*)$", DOCKERFILE, flags=re.MULTILINE)
    assert version is not None
    assert re.findall(r"^FROM (\S+) AS base$", DOCKERFILE, flags=re.MULTILINE) == ["python:${PYTHON}-slim-trixie"]
    installs = re.findall(r"pip install [^&\n]*", DOCKERFILE)
    assert installs
    for line in installs:
        assert "--require-hashes" in line or ("--no-deps" in line and "--no-build-isolation" in line)
    locks = re.findall(r"locks/\$\{PYTHON\}/(\S+)", DOCKERFILE)
    assert locks
    assert all((ROOT / "locks" / version[1] / lock).exists() for lock in locks)
    assert "://" not in DOCKERFILE
    assert "index" not in re.sub(r"#.*", "", DOCKERFILE)


def test_no_secret_and_no_history_gets_into_an_image():
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    kept = [line[1:] for line in lines if line.startswith("!")]
    assert "*" in lines
    assert not [name for name in (".git", "secrets", ".venv", ".env") if any(fnmatch(name, each) for each in kept)]
    copied = [
        word.partition("/")[0]
        for line in re.findall(r"^COPY (.*) \S+$", DOCKERFILE, flags=re.MULTILINE)
        for word in line.split()
    ]
    assert set(copied) <= set(kept)
    assert all((ROOT / name).exists() for name in copied)
    assert "secrets/" in (ROOT / ".gitignore").read_text().splitlines()


def test_the_secrets_are_made_once_and_agree(tmp_path):
    folder = tmp_path / "secrets"
    made = [make_secrets(folder), make_secrets(folder)]
    assert made[0] == made[1]
    found = made[0]
    assert set(found) == {path.removeprefix("./secrets/") for path in secret_files()}
    assert found["postgres_password"] != found["redis_password"]
    assert f":{found['postgres_password']}@postgres:" in found["database_url"]
    assert f":{found['redis_password']}@redis:" in found["redis_url"]
    for queue in ("cpu", "gpu"):
        credential = read_credential(found[f"worker_{queue}"])
        assert (credential.name, credential.queues) == (f"compose-{queue}", (queue,))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o444}


def make_secrets(folder) -> dict[str, str]:
    subprocess.run([ROOT / "bin" / "make-secrets", folder], check=True)
    return {file.name: file.read_text().strip() for file in folder.iterdir()}


def secret_files() -> list[str]:
    return [each["file"] for each in text()["secrets"].values()]
