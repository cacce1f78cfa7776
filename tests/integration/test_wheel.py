"""The wheel, installed into an empty environment outside of the checkout: the engine, and in `make soak` all extras."""

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.doc_examples import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.spark]

TIMEOUT_S = 1_200
# Write, merge and read, and name the folders at the top of the environment that are Braid's.
PROGRAM = """\
import sys, tempfile
import pyarrow as pa
from braid.lake import Catalog
table = Catalog(tempfile.mkdtemp()).create_table(
    "shop.parcels", columns=[("id", "BIGINT"), ("paid", "DOUBLE")], primary_key=["id"],
    options={"bucket": "1", "merge-engine": "partial-update"},
)
table.write_and_commit(pa.table({"id": [7], "paid": [12.5]}))
table.write_and_commit(pa.table({"id": [7], "paid": pa.nulls(1, pa.float64())}))
assert table.get({"id": 7}) == {"id": 7, "paid": 12.5}, table.get({"id": 7})
print(sorted({"pyspark", "fastapi", "lake", "service", "benchmarks", "demo"} & set(sys.modules)))
"""


class Environment:
    """An environment of its own, and commands that run in it outside of the checkout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bin = folder / "venv" / "bin"
        self.caches = folder / "caches"
        venv.create(folder / "venv")

    def run(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment to its end; its import path is the environment's alone."""
        caches = {"XDG_CACHE_HOME": str(self.caches)}
        return self._run([str(self._bin / program), *arguments], caches)

    def install(self, requirement: str) -> None:
        """Install with pip, with the versions that the checkout is tested with."""
        limits = str(ROOT / "constraints.txt")
        # Few of the installed modules are imported; Python compiles those at their first import.
        self._pip("install", "--quiet", "--no-compile", "-c", limits, requirement)

    def installed(self) -> list[str]:
        """Return the names of what is installed, in lower case."""
        lines = self._pip("list", "--format=freeze").lower().splitlines()
        return [line.partition("==")[0] for line in lines]

    def _pip(self, *arguments: str) -> str:
        """Run the checkout's pip on the environment, and return what it prints.

        The environment has none of its own, which takes seconds to install. Pip's cache is the user's: what the
        checkout's environment was made from is there.
        """
        python = str(self._bin / "python")
        done = self._run([sys.executable, "-m", "pip", "--python", python, *arguments], {})
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(
        self, command: Sequence[str], added: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """Run a program outside of the checkout, without what this process tells its children of it."""
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "VIRTUAL_ENV", "BRAID_JARS", "PYTHONDONTWRITEBYTECODE")
        }
        return subprocess.run(
            command,
            cwd=self.folder,
            env={**environment, **added},
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )


@pytest.fixture(scope="module")
def wheel() -> Iterator[Path]:
    """The wheel of the checkout."""
    with tempfile.TemporaryDirectory(prefix="braid-wheel-") as folder:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder]
        subprocess.run([*command, str(ROOT)], check=True, timeout=TIMEOUT_S)
        (path,) = Path(folder).glob("braid_lake-*.whl")
        yield path


@pytest.fixture(scope="module")
def environment() -> Iterator[Environment]:
    """An empty environment; it is deleted, because what Spark brings is large."""
    with tempfile.TemporaryDirectory(prefix="braid-wheel-env-") as folder:
        yield Environment(Path(folder))


def test_the_engine_alone_is_one_package_without_spark_and_fastapi(
    environment: Environment, wheel: Path
) -> None:
    environment.install(str(wheel))

    used = environment.run("python", "-c", PROGRAM)
    version = environment.run("braid", "--version")
    files = environment.run(
        "python",
        "-c",
        "from importlib.metadata import files, requires\n"
        "print(sorted({file.parts[0] for file in files('braid-lake')}))",
    )
    listed = environment.installed()

    assert used.stdout == "[]\n", used.stderr
    assert version.stdout.startswith("braid "), version.stderr
    number = version.stdout.split()[1]
    # The console script lies in the environment's bin folder.
    assert files.stdout == f"['..', 'braid', 'braid_lake-{number}.dist-info']\n"
    assert "pyarrow" in listed
    assert not [name for name in listed if name.startswith(("pyspark", "fastapi", "kafka"))]


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        (["service", "--warehouse", "w"], "fastapi", "service"),
        (["runner", "--warehouse", "w"], "pyspark", "spark"),
        (["demo"], "fastapi", "demo"),
    ],
)
def test_a_command_names_the_extra_that_it_needs(
    environment: Environment, command: list[str], package: str, extra: str
) -> None:
    done = environment.run("braid", *command)

    hint = f"hint: pip install 'braid-lake[{extra}]'"
    assert done.stderr == f"error: {package} is not installed; {hint}\n"
    assert done.returncode == 2
    assert not (environment.folder / "w").exists()


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    """Modules, the console's page, schemas, examples and the list of jars."""
    found = {name for name in ZipFile(wheel).namelist() if name.startswith("braid/")}

    folders = os.walk(ROOT / "braid", followlinks=True)
    files = {Path(folder, name).relative_to(ROOT) for folder, _, names in folders for name in names}
    expected = {str(path) for path in files if path.suffix != ".pyc"}
    assert expected - found == set()
    assert found - expected == set()


@pytest.mark.soak
def test_the_demo_runs_from_the_wheel(environment: Environment, wheel: Path) -> None:
    """It starts `braid service` and `braid runner`, and a broker whose jars come into the user's cache."""
    environment.install(f"{wheel}[demo]")

    done = environment.run("braid", "demo", "--scale", "0.005")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "wrong values: 0" in done.stdout
    jars = environment.caches / "braid" / "jars"
    assert sorted(folder.name for folder in jars.iterdir()) == ["kafka", "spark"]
