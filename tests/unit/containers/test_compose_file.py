"""The compose file is valid, pinned, bounded and open to this machine alone."""

import json
import re
import stat
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pyspark
import pytest
import typer
import yaml

from braid.cli.main import app
from braid.formats.clusters.clusters_file import load_clusters
from braid.schemas import KafkaSpec
from tests.support import containers as test_images
from tests.support.compose import CLUSTER, OWN, SCHEMA_FILE, compose_file
from tests.support.doc_examples import ROOT

FILE = compose_file()
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
LASTING = [name for name, service in SERVICES.items() if service["restart"] != "no"]


def test_it_is_valid_by_the_compose_specification() -> None:
    validator = jsonschema_rs.validator_for(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))

    assert [error.message for error in validator.iter_errors(FILE)] == []


def test_it_runs_all_parts_of_a_deployment() -> None:
    assert {"broker", "storage", "schema-registry", *OWN, "prometheus", "grafana"} <= set(SERVICES)


@pytest.mark.parametrize("name", SERVICES)
def test_every_image_is_pinned_or_built_here(name: str) -> None:
    service = SERVICES[name]
    repository, _, tag = service["image"].rpartition(":")

    assert repository
    if name in (*OWN, *CLUSTER, "tokens"):
        assert tag == "local"
    else:
        assert re.search(r"\d+\.\d+|\d{4}-\d{2}-\d{2}", tag), service["image"]


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_bounds_and_a_restart_policy(name: str) -> None:
    service = SERVICES[name]

    assert service["mem_limit"]
    assert service["cpus"]
    assert service["restart"] in ("unless-stopped", "no")


@pytest.mark.parametrize("name", SERVICES)
def test_every_port_is_open_on_the_loopback_interface_alone(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert re.fullmatch(r"127\.0\.0\.1:\d+:\d+", port)


@pytest.mark.parametrize("name", LASTING)
def test_every_service_that_lasts_has_a_health_check(name: str) -> None:
    check = SERVICES[name]["healthcheck"]

    assert check["test"][0] in ("CMD", "CMD-SHELL")
    assert {"interval", "timeout", "retries"} <= set(check)


@pytest.mark.parametrize("name", [*OWN, *CLUSTER, "tokens"])
def test_programs_of_braid_have_few_rights(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_every_volume_and_secret_is_declared_and_used() -> None:
    volumes, secrets = set(), set()
    for service in SERVICES.values():
        secrets |= set(service.get("secrets", ()))
        sources = [volume.split(":")[0] for volume in service.get("volumes", ())]
        volumes |= {source for source in sources if not source.startswith(("/", "."))}
        for source in sources:
            assert not source.startswith(".") or (ROOT / source).exists(), source

    assert volumes == set(FILE["volumes"])
    assert secrets == set(FILE["secrets"])


def test_a_cluster_starts_by_its_profile_alone() -> None:
    assert tuple(name for name, one in SERVICES.items() if "profiles" in one) == CLUSTER
    assert SERVICES["spark-worker"]["scale"] == 2


def test_the_programs_of_the_cluster_know_each_other() -> None:
    _, *master = SERVICES["spark-master"]["command"]
    given = dict(zip(master[::2], master[1::2], strict=True))
    address = f"spark://{given['--host']}:{given['--port']}"
    runner = SERVICES["cluster-runner"]

    assert given["--host"] == "spark-master"
    assert SERVICES["spark-worker"]["command"][-1] == address
    assert f"--master={address}" in runner["command"]
    assert f"--conf=spark.driver.host={runner['hostname']}" in runner["command"]


def test_the_cluster_runs_from_the_image_of_runners() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    (version,) = re.findall(r"^ARG PYTHON_IMAGE=python:(\d+\.\d+)\.", dockerfile, re.MULTILINE)
    packages = f"/opt/braid/lib/python{version}/site-packages"

    program = Path(pyspark.__file__).parent / "bin/spark-class"
    assert program.is_file()
    for name in ("spark-master", "spark-worker"):
        assert SERVICES[name]["image"] == SERVICES["runner"]["image"]
        assert SERVICES[name]["entrypoint"] == [f"{packages}/pyspark/bin/spark-class"]


@pytest.mark.parametrize("name", [*OWN, "tokens", "cluster-runner"])
def test_every_option_is_one_of_the_command(name: str) -> None:
    words = SERVICES[name]["command"]
    command: Any = typer.main.get_command(app)
    while words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    known = {one for found in command.params for one in (*found.opts, *found.secondary_opts)}

    assert {word.split("=")[0] for word in words if word.startswith("--")} <= known


def test_no_secret_is_in_the_file() -> None:
    named = re.compile(r"password|secret|credential|token", re.IGNORECASE)
    for name, service in SERVICES.items():
        for variable, value in service.get("environment", {}).items():
            if named.search(variable):
                assert value.startswith("/run/secrets/"), f"{name}: {variable}"


def test_secrets_are_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    program = tmp_path / "make_secrets"
    program.write_bytes((ROOT / "containers/make_secrets").read_bytes())

    def made() -> dict[str, str]:
        subprocess.run(["sh", str(program)], check=True)
        return {path.name: path.read_text() for path in (tmp_path / "secrets").iterdir()}

    first = made()

    assert {f"./containers/secrets/{name}" for name in first} == {
        secret["file"] for secret in FILE["secrets"].values()
    }
    assert made() == first
    assert len(first["store_password"].strip()) == 48
    assert first["store_password"].strip() in first["store_credentials"]
    assert stat.S_IMODE((tmp_path / "secrets").stat().st_mode) == 0o700


def test_the_clusters_are_the_services_of_the_file() -> None:
    clusters = load_clusters(ROOT / "containers/clusters.toml")

    cluster = clusters.of(KafkaSpec())
    assert cluster is not None
    listeners = SERVICES["broker"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    assert f"INTERNAL://{cluster.bootstrap_servers}," in listeners
    assert clusters.schema_registries["default"].urls[0].startswith("http://schema-registry:8080/")


def test_prometheus_reads_every_program_at_the_port_that_it_listens_at() -> None:
    configuration = yaml.safe_load((ROOT / "containers/prometheus.yml").read_text(encoding="utf-8"))

    targets = {
        job["job_name"]: job["static_configs"][0]["targets"]
        for job in configuration["scrape_configs"]
    }
    ports = {
        name: re.findall(r"(?:metrics-)?port=(\d+)", " ".join(SERVICES[name]["command"]))
        for name in OWN
    }
    assert targets == {f"braid-{name}": [f"{name}:{port}"] for name, (port,) in ports.items()}
    for file in configuration["rule_files"]:
        assert any(volume.endswith(f":{file}:ro") for volume in SERVICES["prometheus"]["volumes"])


def test_grafana_shows_the_dashboard_from_the_start() -> None:
    environment, volumes = SERVICES["grafana"]["environment"], SERVICES["grafana"]["volumes"]
    home = Path(environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"])

    (folder,) = (volume.split(":")[0] for volume in volumes if f":{home.parent}:" in volume)
    assert (ROOT / folder / home.name).exists()
    provided = yaml.safe_load((ROOT / "containers/grafana/dashboards.yml").read_text("utf-8"))
    assert provided["providers"][0]["options"]["path"] == str(home.parent)


def test_broker_and_registry_are_those_that_the_tests_run() -> None:
    assert SERVICES["broker"]["image"] == test_images.KAFKA_IMAGE
    assert SERVICES["schema-registry"]["image"] == test_images.REGISTRY_IMAGE
