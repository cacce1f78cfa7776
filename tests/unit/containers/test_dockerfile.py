"""The Dockerfile copies all of the package and nothing else, and its images run no program as root."""

import re
import tomllib
from fnmatch import fnmatchcase

from tests.support.compose import compose_file
from tests.support.doc_examples import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
STAGES = dict(re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", TEXT, re.MULTILINE | re.DOTALL))
IMAGES = ("service", "runner")
COPIED = re.findall(r"^COPY (?!--from)(.*) (\S+)$", TEXT, re.MULTILINE)


def test_the_parts_of_the_package_are_copied() -> None:
    parts = {path.name for path in (ROOT / "braid").iterdir() if path.is_symlink()}

    copied = {source for sources, target in COPIED for source in sources.split() if target != "./"}
    assert copied - {"constraints.txt"} == parts | {"braid"}


def test_what_is_copied_exists_and_is_not_ignored() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    kept = {rule.removeprefix("!") for rule in rules if rule.startswith("!")}

    copied = {source for sources, _ in COPIED for source in sources.split()}
    assert rules[0] == "*"
    assert kept == copied
    assert all((ROOT / source).exists() for source in copied)
    ignored = [rule for rule in rules[1:] if not rule.startswith("!")]
    for source in copied:
        assert not any(fnmatchcase(source, rule) for rule in ignored)


def test_every_base_image_is_pinned() -> None:
    (image,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", TEXT, re.MULTILINE)
    bases = set(re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE))

    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-\w+", image)
    assert bases - set(STAGES) == {"${PYTHON_IMAGE}"}


def test_the_images_run_as_a_user_without_rights_and_have_no_build_tools() -> None:
    for name in IMAGES:
        instructions = re.findall(r"^([A-Z]+) (.*)$", STAGES[name], re.MULTILINE)
        assert ("USER", "10001") in instructions
        position = instructions.index(("USER", "10001"))
        assert all(instruction != "RUN" for instruction, _ in instructions[position:])
        assert not re.search(r"pip install|gcc|build-essential|git\b", STAGES[name])


def test_the_extras_of_the_environments_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    extras = re.findall(r"\*\.whl\)\[(\w+)\]", TEXT)
    assert extras == ["service", "spark"]
    assert set(extras) <= set(project["optional-dependencies"])


def test_the_compose_file_builds_stages_of_the_dockerfile() -> None:
    services = compose_file()["services"].values()

    built = {service["build"]["target"] for service in services if "build" in service}
    assert built == set(IMAGES)


def test_the_health_check_of_the_image_is_that_of_the_compose_file() -> None:
    check = compose_file()["services"]["service"]["healthcheck"]["test"]

    assert check[-1] in TEXT
