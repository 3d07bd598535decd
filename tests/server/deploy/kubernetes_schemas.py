"""Write kubernetes.json: schemas of the kinds that deploy/kubernetes uses, without descriptions.

`python -m tests.server.deploy.kubernetes_schemas DEFINITIONS CRD` takes `v*-local-strict/_definitions.json` of the
package kubernetes-validate, and `config/crd/bases/keda.sh_scaledobjects.yaml` of KEDA. Both are under Apache 2.0.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

FILE = Path(__file__).with_name("kubernetes.json")
KINDS = {
    "Deployment": "io.k8s.api.apps.v1.Deployment",
    "Ingress": "io.k8s.api.networking.v1.Ingress",
    "Job": "io.k8s.api.batch.v1.Job",
    "Namespace": "io.k8s.api.core.v1.Namespace",
    "NetworkPolicy": "io.k8s.api.networking.v1.NetworkPolicy",
    "Service": "io.k8s.api.core.v1.Service",
}
_KEPT_VOLUMES = {"name", "configMap", "emptyDir", "hostPath", "persistentVolumeClaim", "projected", "secret"}
_LEFT_OUT = {"description", "default", "format"}


def stripped(schema: Any) -> Any:
    """Without texts, states and rare volumes. An object with named fields has no others."""
    if isinstance(schema, list):
        return [stripped(each) for each in schema]
    if not isinstance(schema, dict):
        return schema.replace("/api/_definitions.json", "") if isinstance(schema, str) else schema
    fields = schema.get("properties")
    if not isinstance(fields, dict):
        return {key: stripped(each) for key, each in schema.items() if key not in _LEFT_OUT and key[:2] != "x-"}
    others = {key: each for key, each in schema.items() if key != "properties"}
    kept = _KEPT_VOLUMES if "awsElasticBlockStore" in fields else fields.keys() - {"status", "ephemeralContainers"}
    inner = {name: stripped(fields[name]) for name in sorted(kept)}
    return {**stripped(others), "properties": inner, "additionalProperties": False}


def references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if isinstance(found := schema.get("$ref"), str):
            yield found.rpartition("/")[2]
        schema = [*schema.values()]
    if isinstance(schema, list):
        for each in schema:
            yield from references(each)


def main(definitions: Path, crd: Path) -> None:
    every = json.loads(definitions.read_text())["$defs"]
    (version,) = yaml.safe_load(crd.read_text())["spec"]["versions"]
    found = {"ScaledObject": stripped(version["schema"]["openAPIV3Schema"])}
    waiting = [*KINDS.values()]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = stripped(every[name])
            waiting += references(found[name])
    found |= {kind: {"$ref": f"#/$defs/{name}"} for kind, name in KINDS.items()}
    lines = ",\n".join(
        f"{json.dumps(name)}: {json.dumps(found[name], separators=(',', ':'))}" for name in sorted(found)
    )
    FILE.write_text(f'{{"$defs": {{\n{lines}\n}}}}\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
