"""The manifests of deploy/kubernetes as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml

from tests.server.deploy.units import DEPLOY

WORKLOADS = ("Deployment", "Job")


@dataclass(frozen=True, slots=True)
class Workload:
    """A deployment or a job, which has one container."""

    name: str
    kind: str
    labels: Mapping[str, str]
    pod: Mapping[str, Any]

    @property
    def container(self) -> Mapping[str, Any]:
        (only,) = self.pod["containers"]
        return only  # type: ignore[no-any-return]

    @property
    def command(self) -> list[str]:
        return [*self.container.get("command", []), *self.container.get("args", [])]

    @property
    def environment(self) -> dict[str, str]:
        own = {each["name"]: each["value"] for each in self.container.get("env", [])}
        taken = [each["configMapRef"]["name"] for each in self.container.get("envFrom", [])]
        return {**{name: value for one in taken for name, value in config_maps()[one].items()}, **own}

    @property
    def secrets(self) -> set[str]:
        """The files in /run/secrets, from the secrets that it mounts."""
        (volume,) = (each for each in self.pod["volumes"] if each["name"] == "secrets")
        sources = volume["projected"]["sources"] if "projected" in volume else [volume]
        names = [each["secret"].get("name") or each["secret"]["secretName"] for each in sources]
        return {f"/run/secrets/{file}" for name in names for file in secret_files()[name]}


def kustomization() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())
    return found


def config_maps() -> dict[str, dict[str, str]]:
    """Those with literals."""
    made = kustomization()["configMapGenerator"]
    return {each["name"]: dict(pair.split("=", 1) for pair in each.get("literals", [])) for each in made}


def secret_files() -> dict[str, list[str]]:
    made = kustomization()["secretGenerator"]
    return {each["name"]: [file.removeprefix("secrets/") for file in each["files"]] for each in made}


@cache
def objects() -> list[dict[str, Any]]:
    """All objects of the files that the kustomization names."""
    files = [DEPLOY / name for name in kustomization()["resources"]]
    return [each for file in files for plain in yaml.safe_load_all(file.read_text()) for each in _items(plain)]


def of_kind(*kinds: str) -> dict[str, dict[str, Any]]:
    return {each["metadata"]["name"]: each for each in objects() if each["kind"] in kinds}


def workloads() -> dict[str, Workload]:
    found = {}
    for name, each in of_kind(*WORKLOADS).items():
        template = each["spec"]["template"]
        found[name] = Workload(name, each["kind"], template["metadata"]["labels"], template["spec"])
    return found


def _items(plain: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if plain["kind"] == "List":
        yield from plain["items"]
    else:
        yield plain
