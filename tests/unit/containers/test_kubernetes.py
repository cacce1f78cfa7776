"""The Kubernetes manifests are valid, agree with each other, with the programs and with the compose file."""

import copy
import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from braid.cli.main import app
from braid.formats.clusters.clusters_file import load_clusters
from braid.pipelines.spark import executor_pod
from braid.schemas import KafkaSpec
from tests.support.compose import OWN, compose_file
from tests.support.doc_examples import ROOT
from tests.support.kubernetes import (
    FOLDER,
    Manifest,
    kustomization,
    manifests,
    pod_errors,
    schema_errors,
    with_component,
)

ALL = manifests()
SETTINGS: dict[str, str] = ALL["ConfigMap/braid-settings"]["data"]
PROGRAMS = {
    "service": ALL["Deployment/service"],
    "runner": ALL["StatefulSet/runner"],
    "maintenance": ALL["Deployment/maintenance"],
}
COMPONENT = "spark-executors"
PROBES = ("livenessProbe", "readinessProbe")


def pod(name: str) -> dict[str, Any]:
    found: dict[str, Any] = PROGRAMS[name]["spec"]["template"]["spec"]
    return found


def container(name: str) -> dict[str, Any]:
    (found,) = pod(name)["containers"]
    assert found["name"] == name
    return dict(found)


def variables(name: str) -> set[str]:
    own = {one["name"] for one in container(name).get("env", ())}
    return own | (set(SETTINGS) if container(name).get("envFrom") else set())


@pytest.mark.parametrize("name", ALL)
def test_every_manifest_is_valid_by_the_schema_of_its_kind(name: str) -> None:
    assert list(schema_errors(ALL[name])) == []


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("Deployment/service", ("spec", "replica"), 2),
        ("Deployment/service", ("spec", "replicas"), "two"),
        ("StatefulSet/runner", ("spec", "template", "spec", "containers", 0, "port"), []),
        ("NetworkPolicy/clients", ("spec", "ingress", 0, "to"), []),
    ],
)
def test_a_wrong_manifest_is_found(name: str, path: tuple[str | int, ...], value: Any) -> None:
    wrong = copy.deepcopy(ALL[name])
    place: Any = wrong
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value

    assert list(schema_errors(wrong))


def test_the_kustomization_names_every_file() -> None:
    resources = kustomization()["resources"]

    files = {path.name for path in FOLDER.glob("*.yaml")} - {"kustomization.yaml"}
    assert sorted(resources) == sorted(files)
    assert {path.parent.name for path in FOLDER.glob("*/kustomization.yaml")} == {COMPONENT}
    assert {one["name"] for one in kustomization()["images"]} == {
        container(name)["image"] for name in OWN
    }


@pytest.mark.parametrize("name", OWN)
def test_every_option_is_one_of_the_command(name: str) -> None:
    command, *arguments = container(name)["args"]
    root: Any = typer.main.get_command(app)
    found = root.commands[command]
    known = {
        one for parameter in found.params for one in (*parameter.opts, *parameter.secondary_opts)
    }

    assert {argument.split("=")[0] for argument in arguments} <= known
    if name == "runner":
        patched = with_component(COMPONENT)["StatefulSet/runner"]["spec"]["template"]["spec"]
        added = patched["containers"][0]["args"]
        assert {argument.split("=")[0] for argument in added[1:]} <= known
        assert len(set(added)) == len(added) > len(arguments) + 1
    used = set(re.findall(r"\$\((\w+)\)", " ".join(arguments)))
    assert used <= variables(name)


@pytest.mark.parametrize("name", OWN)
def test_the_settings_are_those_of_the_compose_file(name: str) -> None:
    there: dict[str, Any] = compose_file()["services"][name]
    here = container(name)

    expected = set(there["command"]) - {f"--warehouse={SETTINGS['WAREHOUSE']}", "--name=runner-1"}
    assert expected <= set(here["args"])
    assert set(there["environment"]) - {"BRAID_STORE_ALLOW_HTTP"} <= set(SETTINGS)
    assert here["image"] == there["image"].removesuffix(":local")
    assert here["resources"]["limits"]["memory"] == there["mem_limit"].replace("g", "Gi")
    assert here["resources"]["limits"]["cpu"] == str(there["cpus"])
    grace_s = int(there["stop_grace_period"].removesuffix("s"))
    assert pod(name)["terminationGracePeriodSeconds"] >= grace_s


@pytest.mark.parametrize("name", OWN)
def test_probes_ask_what_the_program_answers(name: str) -> None:
    here = container(name)
    ports = {port["name"]: port["containerPort"] for port in here["ports"]}

    (listens_at,) = re.findall(r"--(?:metrics-)?port=(\d+)", " ".join(here["args"]))
    assert set(PROBES) <= set(here)
    for kind in (*PROBES, "startupProbe"):
        if kind in here:
            asked = here[kind]["httpGet"]
            assert ports[asked["port"]] == int(listens_at)
            assert asked["path"] == ("/ready" if kind == "readinessProbe" else "/health")


def test_the_drain_of_the_service_ends_within_the_grace_period() -> None:
    (drain_s,) = re.findall(r"--drain-seconds=(\d+)", " ".join(container("service")["args"]))

    # The service gives open requests twenty seconds more.
    assert int(drain_s) + 20 < pod("service")["terminationGracePeriodSeconds"]


@pytest.mark.parametrize("name", OWN)
def test_programs_have_few_rights(name: str) -> None:
    security = container(name)["securityContext"]

    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert pod(name)["securityContext"]["runAsNonRoot"] is True
    uid = pod(name)["securityContext"]["runAsUser"]
    assert f"--uid {uid} " in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert pod(name)["automountServiceAccountToken"] is False


@pytest.mark.parametrize("name", OWN)
def test_everything_that_a_pod_names_exists(name: str) -> None:
    declared = {volume["name"]: volume for volume in pod(name)["volumes"]}
    mounted = {mount["name"] for mount in container(name)["volumeMounts"]}

    assert mounted == set(declared)
    assert f"ServiceAccount/{pod(name)['serviceAccountName']}" in ALL
    for one in container(name).get("envFrom", ()):
        assert f"ConfigMap/{one['configMapRef']['name']}" in ALL
    for volume in declared.values():
        if "configMap" in volume:
            assert f"ConfigMap/{volume['configMap']['name']}" in ALL
        assert "sizeLimit" in volume.get("emptyDir", {"sizeLimit": ""})
    labels = PROGRAMS[name]["spec"]["template"]["metadata"]["labels"]
    assert PROGRAMS[name]["spec"]["selector"]["matchLabels"] == labels


def test_selectors_select_the_pods_of_a_program() -> None:
    labels = [PROGRAMS[name]["spec"]["template"]["metadata"]["labels"] for name in OWN]
    for key, manifest in ALL.items():
        kind = key.partition("/")[0]
        wanted: dict[str, str] = {}
        if kind == "Service":
            wanted = manifest["spec"]["selector"]
        elif kind == "PodDisruptionBudget":
            wanted = manifest["spec"]["selector"]["matchLabels"]
        elif kind == "NetworkPolicy":
            wanted = manifest["spec"]["podSelector"]["matchLabels"]

        assert any(wanted.items() <= one.items() for one in labels), key


def test_the_autoscaler_and_the_set_name_what_exists() -> None:
    target = ALL["HorizontalPodAutoscaler/service"]["spec"]["scaleTargetRef"]
    runner = PROGRAMS["runner"]["spec"]

    assert f"{target['kind']}/{target['name']}" in ALL
    assert ALL[f"Service/{runner['serviceName']}"]["spec"]["clusterIP"] == "None"


def test_requests_may_be_addressed_to_the_name_of_the_service() -> None:
    service = ALL["Service/service"]
    name = service["metadata"]["name"]
    namespace = kustomization()["namespace"]

    assert f"Namespace/{namespace}" in ALL
    assert {f"--allow-host={name}", f"--allow-host={name}.{namespace}.svc"} <= set(
        container("service")["args"]
    )
    (port,) = service["spec"]["ports"]
    assert f"--port={port['port']}" in container("service")["args"]


def test_no_secret_is_in_the_files() -> None:
    assert not any(key.startswith("Secret/") for key in ALL)
    named = re.compile(r"password|secret|credential|token|_key", re.IGNORECASE)
    for variable, value in SETTINGS.items():
        assert not named.search(variable) or value.startswith("/run/secrets/"), variable
    folder = Path(SETTINGS["BRAID_STORE_CREDENTIALS"]).parent
    for name in OWN:
        mounts = {mount["mountPath"]: mount["name"] for mount in container(name)["volumeMounts"]}
        (volume,) = (one for one in pod(name)["volumes"] if one["name"] == mounts[str(folder)])
        assert volume["secret"]["secretName"] == "braid-store"


def test_runners_with_executors_are_valid() -> None:
    found = with_component(COMPONENT)

    assert [error for one in found.values() for error in schema_errors(one)] == []
    template = yaml.safe_load(found["ConfigMap/braid-executor"]["data"]["pod.yaml"])
    assert list(pod_errors({**template["spec"]})) == []
    binding, role = found["RoleBinding/spark-driver"], found["Role/spark-driver"]
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    spec = found["StatefulSet/runner"]["spec"]["template"]["spec"]
    assert [one["name"] for one in binding["subjects"]] == [spec["serviceAccountName"]]
    assert spec["automountServiceAccountToken"] is True


def test_executors_have_the_rights_of_other_pods_and_reach_the_driver() -> None:
    found = with_component(COMPONENT)
    template = yaml.safe_load(found["ConfigMap/braid-executor"]["data"]["pod.yaml"])["spec"]
    runner = found["StatefulSet/runner"]["spec"]["template"]["spec"]
    (driver,) = runner["containers"]

    assert template["securityContext"] == runner["securityContext"]
    (executor,) = template["containers"]
    assert executor["securityContext"].items() <= driver["securityContext"].items()
    given = dict(
        word.removeprefix("--conf=").split("=", 1) for word in driver["args"] if "--conf=" in word
    )
    ports = {one["name"]: one["containerPort"] for one in driver["ports"]}
    assert int(given["spark.driver.port"]) == ports["driver"]
    assert int(given["spark.driver.blockManager.port"]) == ports["blocks"]
    allowed = found["NetworkPolicy/executors"]["spec"]["ingress"][0]["ports"]
    assert [one["port"] for one in allowed] == ["driver", "blocks"]
    mounts = {one["name"]: one["mountPath"] for one in driver["volumeMounts"]}
    assert given["spark.kubernetes.executor.podTemplateFile"] == f"{mounts['executor']}/pod.yaml"
    assert given["spark.kubernetes.executor.podTemplateContainerName"] == executor["name"]
    # Executors find the credentials of the store at the path of the driver's.
    folder = str(Path(SETTINGS["BRAID_STORE_CREDENTIALS"]).parent)
    assert given["spark.kubernetes.executor.secrets.braid-store"] == folder
    # Executors run from the image of runners, which has no entry point of Spark.
    (image,) = (one for one in kustomization()["images"] if one["name"] == driver["image"])
    assert given["spark.kubernetes.container.image"] == f"{image['name']}:{image['newTag']}"
    assert executor["command"] == ["python", "-m", executor_pod.__name__]
    headless = found["Service/runner"]
    namespace = kustomization()["namespace"]
    assert (
        given["spark.driver.host"] == f"$(POD_NAME).{headless['metadata']['name']}.{namespace}.svc"
    )
    assert headless["spec"]["publishNotReadyAddresses"] is True


def test_executors_exchange_records_although_nothing_else_may_connect_to_them() -> None:
    found = with_component(COMPONENT)
    template = yaml.safe_load(found["ConfigMap/braid-executor"]["data"]["pod.yaml"])
    executor = template["metadata"]["labels"]
    runner = found["StatefulSet/runner"]["spec"]["template"]["metadata"]["labels"]

    closed = found["NetworkPolicy/no-connections"]["spec"]["podSelector"]["matchLabels"]
    assert closed.items() <= executor.items()
    policy = found["NetworkPolicy/executor-blocks"]["spec"]
    assert policy["podSelector"]["matchLabels"].items() <= executor.items()
    (rule,) = policy["ingress"]
    assert "ports" not in rule
    admitted = [one["podSelector"]["matchLabels"] for one in rule["from"]]
    for labels in (executor, runner):
        assert any(wanted.items() <= labels.items() for wanted in admitted)
    service = found["Deployment/service"]["spec"]["template"]["metadata"]["labels"]
    assert not any(wanted.items() <= service.items() for wanted in admitted)


def test_pods_of_executors_have_room_for_python_beside_the_heap() -> None:
    (driver,) = with_component(COMPONENT)["StatefulSet/runner"]["spec"]["template"]["spec"][
        "containers"
    ]
    given = dict(
        word.removeprefix("--conf=").split("=", 1) for word in driver["args"] if "--conf=" in word
    )
    beside_gb = int(given["spark.executor.memoryOverhead"].removesuffix("g"))

    # Rows of a task, and its interpreter: see the guide of sizes.
    assert beside_gb * 1_024 >= int(given["spark.executor.cores"]) * (768 + 150)


def test_the_cluster_file_is_one(tmp_path: Path) -> None:
    file = tmp_path / "clusters.toml"
    file.write_text(ALL["ConfigMap/braid-clusters"]["data"]["clusters.toml"], encoding="utf-8")

    assert load_clusters(file).of(KafkaSpec()) is not None


def test_everything_carries_the_labels_of_braid() -> None:
    unlabelled: list[Manifest] = [
        manifest
        for key, manifest in ALL.items()
        if not key.startswith("Namespace/")
        and manifest["metadata"].get("labels", {}).get("app.kubernetes.io/part-of") != "braid"
    ]

    assert unlabelled == []
    assert set(chain.from_iterable(one["metadata"] for one in ALL.values())) <= {"name", "labels"}
