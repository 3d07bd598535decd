"""The manifests for Kubernetes: what each part may do, and whom it reaches."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest
import yaml

from tests.server.compose_file import services
from tests.server.deploy.kubernetes import (
    Workload,
    config_maps,
    kustomization,
    objects,
    of_kind,
    secret_files,
    workloads,
)
from tests.server.deploy.kubernetes_schemas import FILE
from tests.server.deploy.units import DEPLOY, ROOT
from worker.commands.worker.start import start
from worker.slots import supervisor

EVERY = workloads()
SCHEMAS = json.loads(FILE.read_text())
SERVER = {"web", "dispatcher", "recorder", "migrate"}
WORKERS = {"worker-cpu", "worker-gpu"}
POLICIES = of_kind("NetworkPolicy")
each_workload = pytest.mark.parametrize("it", EVERY.values(), ids=EVERY)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="needs kubectl")
def test_kustomize_builds_it_from_what_make_secrets_wrote(tmp_path: Path):
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("secrets"))
    subprocess.run([ROOT / "bin" / "make-secrets", "--tls", "redis", tmp_path / "deploy" / "secrets"], check=True)
    done = subprocess.run(
        ["kubectl", "kustomize", tmp_path / "deploy"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    built = list(yaml.safe_load_all(done.stdout))
    assert {each["metadata"].get("namespace", "tilelab") for each in built} == {"tilelab"}
    secrets = {each["metadata"]["name"] for each in built if each["kind"] == "Secret"}
    for each in built:
        if each["kind"] in {"Deployment", "Job"}:
            mounted = re.findall(r"'(?:secretName|secret': {'name)': '([^']*)'", str(each))
            assert mounted
            assert set(mounted) <= secrets


def refusal(plain: object, kind: str) -> str:
    """The place of what the schema of the kind refuses; "" if it refuses nothing."""
    errors = jsonschema.Draft202012Validator({**SCHEMAS, "$ref": f"#/$defs/{kind}"}).iter_errors(plain)
    worst = jsonschema.exceptions.best_match(errors)
    return worst.json_path if worst else ""


@pytest.mark.parametrize("it", objects(), ids=lambda it: f"{it['kind']}-{it['metadata']['name']}")
def test_each_object_is_what_its_schema_allows(it: dict[str, Any]):
    assert not refusal(it, it["kind"])


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("Deployment", "web", "spec.template.spec.containers.0.livenessProbe.periodSeconds"),
        ("Deployment", "redis", "spec.template.spec.securityContext.runAsNonRoot"),
        ("Job", "migrate", "spec.backoffLimit"),
        ("Service", "web", "spec.ports.0.port"),
        ("Ingress", "web", "spec.ingressClassName"),
        ("NetworkPolicy", "worker", "spec.policyTypes"),
        ("ScaledObject", "worker-gpu", "spec.maxReplicaCount"),
    ],
)
def test_a_misspelt_field_and_a_wrong_type_are_refused(kind: str, name: str, path: str):
    *way, field = path.split(".")
    for wrong in ({f"{field}s": 1}, {field: {"of": "type"}}):
        copy = deepcopy(of_kind(kind)[name])
        place: Any = copy
        for step in way:
            place = place[int(step) if step.isdecimal() else step]
        assert place.pop(field) is not None
        place |= wrong
        assert refusal(copy, kind).startswith("$.spec")


def test_the_parts_are_those_of_an_installation():
    assert SERVER | WORKERS | {"redis"} == EVERY.keys()


@each_workload
def test_nothing_runs_as_root_or_may_gain_a_right(it: Workload):
    assert it.pod["automountServiceAccountToken"] is False
    assert it.pod["securityContext"]["runAsNonRoot"] is True
    assert it.pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert it.container["securityContext"] == {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True,
    }  # fmt: skip
    assert {"memory"} <= it.container["resources"]["limits"].keys()


@each_workload
def test_selectors_and_mounts_fit(it: Workload):
    assert {each["name"] for each in it.container["volumeMounts"]} == {each["name"] for each in it.pod["volumes"]}
    if it.kind == "Deployment":
        selector = of_kind("Deployment")[it.name]["spec"]["selector"]["matchLabels"]
        assert selector.items() <= it.labels.items()


@each_workload
def test_files_of_secrets_are_mounted_and_no_others(it: Workload):
    named = {value for name, value in it.environment.items() if name.endswith("_FILE")}
    named |= set(re.findall(r"/run/secrets/\w+", " ".join(it.command)))
    assert named <= it.secrets
    unnamed = {Path(file).name for file in it.secrets - named}
    # an address names the certificate; Redis gets the folder; the job needs no address of Redis
    assert unnamed <= {"redis_certificate", "redis_url", "redis_key", "redis_password"}
    assert it.name == "redis" or not unnamed & {"redis_key", "redis_password"}


def test_a_worker_has_its_own_address_and_nothing_else():
    for name in WORKERS:
        own = name.replace("-", "_")
        assert EVERY[name].secrets == {f"/run/secrets/{own}", "/run/secrets/redis_certificate"}
        assert EVERY[name].labels["part"] == "worker"


def test_workers_reach_only_redis():
    reached = [each for each in POLICIES.values() if selects(each, EVERY["worker-gpu"])]
    assert {each["metadata"]["name"] for each in reached} == {"nothing", "names", "worker"}
    (rule,) = POLICIES["worker"]["spec"]["egress"]
    assert rule == {"to": [{"podSelector": {"matchLabels": {"app": "redis"}}}], "ports": [{"port": 6379}]}
    assert POLICIES["nothing"]["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_only_the_parts_reach_redis_and_only_web_is_reached_from_outside():
    inward = {name for name, each in POLICIES.items() if "ingress" in each["spec"]}
    assert inward == {"redis", "web"}
    (rule,) = POLICIES["redis"]["spec"]["ingress"]
    (source,) = rule["from"]
    (asked,) = source["podSelector"]["matchExpressions"]
    parts = {name for name, each in EVERY.items() if each.labels.get("part") in asked["values"]}
    assert parts == SERVER | WORKERS


def selects(policy: dict[str, Any], it: Workload) -> bool:
    wanted: dict[str, str] = policy["spec"]["podSelector"].get("matchLabels", {})
    return wanted.items() <= it.labels.items()


def test_a_worker_is_not_killed_while_it_hands_over_what_it_does():
    grace = next(each for each in start.params if each.name == "grace").get_default(click.Context(start))
    assert isinstance(grace, float)
    for name in WORKERS:
        needed = grace + supervisor._LEAVE_SECONDS + supervisor._KILL_SECONDS
        assert EVERY[name].pod["terminationGracePeriodSeconds"] >= needed + 15


def test_probes_and_commands_are_those_of_compose():
    compose = services()
    for name in ("dispatcher", "recorder"):
        assert EVERY[name].command == compose[name].command
    for here, there in (("dispatcher", "dispatcher"), ("recorder", "recorder"), ("worker-gpu", "worker-gpu")):
        assert EVERY[here].container["livenessProbe"]["exec"]["command"] == compose[there].health
    assert EVERY["worker-cpu"].command == compose["worker"].command
    assert EVERY["worker-gpu"].command == compose["worker-gpu"].command


def test_a_gpu_is_asked_for_by_its_worker_only():
    asking = {name for name, each in EVERY.items() if "nvidia.com/gpu" in each.container["resources"]["limits"]}
    assert asking == {"worker-gpu"}


def test_images_are_those_of_compose_with_a_version():
    compose = {each.plain["image"] for each in services().values()}
    assert {each.container["image"] for each in EVERY.values()} <= compose
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    built = {each["name"]: each["newTag"] for each in kustomization()["images"]}
    assert set(built.values()) == {project["version"]}
    assert built.keys() == {image for image in compose if image.startswith("tilelab-")}


def test_keda_scales_the_workers():
    targets = {each["spec"]["scaleTargetRef"]["name"] for each in of_kind("ScaledObject").values()}
    assert targets == WORKERS


def test_a_service_finds_its_pods_by_their_ports():
    for name, service in of_kind("Service").items():
        (port,) = service["spec"]["ports"]
        assert service["spec"]["selector"].items() <= EVERY[name].labels.items()
        assert port["port"] in {each["containerPort"] for each in EVERY[name].container["ports"]}
    (rule,) = of_kind("Ingress")["web"]["spec"]["rules"]
    assert {path["backend"]["service"]["name"] for path in rule["http"]["paths"]} <= of_kind("Service").keys()
    assert config_maps()["settings"]["TILELAB_PUBLIC_URL"] == f"https://{rule['host']}"


def test_every_secret_is_used():
    used = set().union(*(each.secrets for each in EVERY.values()))
    assert {f"/run/secrets/{file}" for files in secret_files().values() for file in files} == used
