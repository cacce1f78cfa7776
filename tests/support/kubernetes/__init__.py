"""The Kubernetes manifests at the top of the repository, and the schemas of their kinds.

`schemas.json` has the strict schemas of Kubernetes 1.37 for these kinds, without descriptions and the state that a cluster
adds; they are those of the package kubernetes-validate 1.37.0 (Apache License 2.0).
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import yaml

from tests.support.doc_examples import ROOT

FOLDER: Final = ROOT / "kubernetes"
_SCHEMAS: Final = Path(__file__).parent / "schemas.json"

Manifest = dict[str, Any]


def kustomization() -> Manifest:
    """Return the file that names all others."""
    found: Manifest = yaml.safe_load((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
    return found


def manifests() -> dict[str, Manifest]:
    """Return the manifests that the kustomization names, by kind and name (`Service/runner`)."""
    found = {}
    for name in kustomization()["resources"]:
        for one in yaml.safe_load_all((FOLDER / name).read_text(encoding="utf-8")):
            key = f"{one['kind']}/{one['metadata']['name']}"
            assert key not in found, f"{key} is there twice"
            found[key] = one
    return found


def with_component(name: str) -> dict[str, Manifest]:
    """Return all manifests with those of a component, and with its patches, which add and replace values."""
    folder = FOLDER / name
    found = manifests()
    component = yaml.safe_load((folder / "kustomization.yaml").read_text(encoding="utf-8"))
    for resource in component["resources"]:
        for one in yaml.safe_load_all((folder / resource).read_text(encoding="utf-8")):
            found[f"{one['kind']}/{one['metadata']['name']}"] = one
    for patch in component["patches"]:
        target = found["{kind}/{name}".format(**patch["target"])]
        for step in yaml.safe_load((folder / patch["path"]).read_text(encoding="utf-8")):
            _apply(target, step)
    return found


def _apply(manifest: Manifest, step: dict[str, Any]) -> None:
    *path, last = step["path"].strip("/").split("/")
    place: Any = manifest
    for key in path:
        place = place[int(key) if isinstance(place, list) else key]
    if last == "-":
        assert step["op"] == "add"
        place.append(step["value"])
        return
    assert step["op"] == "replace", step
    assert last in place, step
    place[last] = step["value"]


def schema_errors(manifest: Manifest) -> Iterator[str]:
    """Yield what Kubernetes would refuse about the form of a manifest."""
    document = json.loads(_SCHEMAS.read_text(encoding="utf-8"))
    yield from _errors(
        manifest, document["kinds"][f"{manifest['apiVersion']}/{manifest['kind']}"], document
    )


def pod_errors(spec: Manifest) -> Iterator[str]:
    """Yield what Kubernetes would refuse about the form of a pod."""
    document = json.loads(_SCHEMAS.read_text(encoding="utf-8"))
    yield from _errors(spec, document["$defs"]["io.k8s.api.core.v1.PodSpec"], document)


def _errors(manifest: Manifest, schema: Manifest, document: Manifest) -> Iterator[str]:
    schema = {**schema, "$defs": document["$defs"]}
    for error in jsonschema_rs.validator_for(schema).iter_errors(manifest):
        yield f"{'/'.join(map(str, error.instance_path))}: {error.message}"
