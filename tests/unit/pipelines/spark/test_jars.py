"""Jars are the locked ones, or an error names the fault; no test uses a network."""

import hashlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from braid.pipelines.spark import jars, java, maven
from braid.pipelines.spark.jars import JarError, resolve
from braid.pipelines.spark.maven import Coordinate, Repository

CONTENT = {"one-1.0.jar": b"first", "two-2.0.jar": b"second"}


@pytest.fixture(autouse=True)
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A lock file of one conf with two jars."""
    path = tmp_path / "jars.lock"
    lines = [
        f"small org.test:{name.split('-')[0]}:{name.split('-')[1].removesuffix('.jar')}"
        f" {hashlib.sha256(content).hexdigest()} {len(content)}"
        for name, content in CONTENT.items()
    ]
    path.write_text("# a comment\n" + "\n".join(lines) + "\n")
    monkeypatch.setattr(jars, "LOCK_PATH", path)
    return path


class Shop:
    """A repository that counts what is fetched from it."""

    def __init__(self, content: dict[str, bytes]) -> None:
        self.content = content
        self.fetched: list[str] = []

    def download(self, wanted: Sequence[Coordinate], into: Path, _: Repository) -> None:
        for jar in wanted:
            self.fetched.append(jar.file_name)
            (into / jar.file_name).write_bytes(self.content[jar.file_name])


@pytest.fixture
def open_shop(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, bytes]], Shop]:
    def opened(content: dict[str, bytes]) -> Shop:
        shop = Shop(content)
        monkeypatch.setattr(jars, "download", shop.download)
        return shop

    return opened


OpenShop = Callable[[dict[str, bytes]], Shop]


def test_second_call_fetches_nothing(tmp_path: Path, open_shop: OpenShop) -> None:
    shop = open_shop(CONTENT)

    first = resolve(["small"], tmp_path / "jars")
    second = resolve(None, tmp_path / "jars")

    assert first == second == {"small": [tmp_path / "jars" / "small" / name for name in CONTENT]}
    assert shop.fetched == list(CONTENT)


def test_only_missing_jars_are_fetched_again(tmp_path: Path, open_shop: OpenShop) -> None:
    shop = open_shop(CONTENT)
    one, _ = resolve(None, tmp_path)["small"]
    one.unlink()

    resolve(None, tmp_path)

    assert shop.fetched == [*CONTENT, "one-1.0.jar"]


def test_jar_that_is_not_the_locked_one_is_refused_and_not_kept(
    tmp_path: Path, open_shop: OpenShop
) -> None:
    open_shop({**CONTENT, "two-2.0.jar": b"forged"})

    with pytest.raises(JarError, match=r"org\.test:two:2\.0 .*found sha256 .*expected"):
        resolve(["small"], tmp_path)

    assert not (tmp_path / "small" / "two-2.0.jar").exists()


def test_processes_that_resolve_together_fetch_once(tmp_path: Path, open_shop: OpenShop) -> None:
    shop = open_shop(CONTENT)
    threads = [threading.Thread(target=resolve, args=(None, tmp_path)) for _ in range(8)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert shop.fetched == list(CONTENT)


def test_changed_lock_fetches_the_changed_jars(
    tmp_path: Path, lock: Path, open_shop: OpenShop
) -> None:
    shop = open_shop({**CONTENT, "two-3.0.jar": b"third"})
    resolve(None, tmp_path)
    first = lock.read_text().splitlines()[1]
    lock.write_text(f"{first}\nsmall org.test:two:3.0 {hashlib.sha256(b'third').hexdigest()} 5\n")

    resolved = resolve(None, tmp_path)

    assert [path.name for path in resolved["small"]] == ["one-1.0.jar", "two-3.0.jar"]
    assert shop.fetched == [*CONTENT, "two-3.0.jar"]


def test_folder_can_be_set_by_the_environment(
    tmp_path: Path, open_shop: OpenShop, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_shop(CONTENT)
    monkeypatch.setenv("BRAID_JARS", str(tmp_path / "elsewhere"))

    assert resolve()["small"][0].parent == tmp_path / "elsewhere" / "small"


def test_large_confs_are_resolved_only_where_they_are_named(
    tmp_path: Path, lock: Path, open_shop: OpenShop
) -> None:
    name = "server-1.0-all.tar.gz"
    shop = open_shop({**CONTENT, name: b"large"})
    digest = hashlib.sha256(b"large").hexdigest()
    with lock.open("a") as file:
        file.write(f"schema_registry org.test:server:1.0:all@tar.gz {digest} 5\n")

    assert list(resolve(None, tmp_path)) == ["small"]
    (path,) = resolve(["schema_registry"], tmp_path)["schema_registry"]
    assert (path.name, path.read_bytes()) == (name, b"large")
    assert shop.fetched == [*CONTENT, name]
    assert (
        str(jars.read_lock()["schema_registry"][0]).split()[1] == "org.test:server:1.0:all@tar.gz"
    )


def test_unknown_conf_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(JarError, match="found large, expected one of small") as caught:
        resolve(["large"], tmp_path)

    assert caught.value.found == "large"


def test_command_line_ends_with_the_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], open_shop: OpenShop
) -> None:
    open_shop(CONTENT)

    jars.main(["--dest", str(tmp_path)])
    with pytest.raises(SystemExit, match="jars: conf: found large"):
        jars.main(["--dest", str(tmp_path), "large"])

    assert capsys.readouterr().out == "small: 2 jars\n"


def test_committed_lock_is_well_formed() -> None:
    confs = jars.read_lock(Path(jars.__file__).with_name("jars.lock"))

    assert set(confs) == {
        "kafka",
        "spark",
        "paimon",
        "s3proxy",
        "schema_registry",
        "debezium",
        "spark_peers",
    }
    for locked in confs.values():
        names = [jar.coordinate.name for jar in locked]
        assert len(names) == len(set(names)), "Ivy keeps one version of a name"
        assert all(len(jar.sha256) == 64 for jar in locked)


SETTINGS = """\
<settings xmlns="urn:any">
  <servers>
    <server><id>m</id><username>user</username><password>${env.TEST_PASSWORD}</password></server>
  </servers>
  <mirrors>
    <mirror><id>b</id><mirrorOf>*</mirrorOf><url>http://blocked</url><blocked>true</blocked></mirror>
    <mirror><id>o</id><mirrorOf>other</mirrorOf><url>http://other</url></mirror>
    <mirror><id>x</id><mirrorOf>*,!central</mirrorOf><url>http://except</url></mirror>
    <mirror><id>m</id><mirrorOf>a, central</mirrorOf><url>http://mirror/maven</url></mirror>
  </mirrors>
</settings>
"""


def test_mirror_and_login_come_from_mavens_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAVEN_REPO_URL", raising=False)
    monkeypatch.setenv("TEST_PASSWORD", "secret")
    settings = tmp_path / "settings.xml"
    settings.write_text(SETTINGS)

    found = maven.find_repository(settings)

    assert found == Repository(url="http://mirror/maven", user="user", password="secret")


def test_environment_wins_over_settings_and_default_is_no_url(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAVEN_REPO_URL", raising=False)
    assert maven.find_repository(tmp_path / "none.xml") == Repository()

    monkeypatch.setenv("MAVEN_REPO_URL", "http://named")
    assert maven.find_repository(tmp_path / "none.xml") == Repository(url="http://named")


def test_settings_that_are_no_xml_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MAVEN_REPO_URL", raising=False)
    (tmp_path / "settings.xml").write_text("<settings>")

    with pytest.raises(JarError, match=r"settings\.xml: found .*expected XML"):
        maven.find_repository(tmp_path / "settings.xml")


def given_java(home: Path, version: str) -> None:
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "java").touch(mode=0o755)
    (home / "release").write_text(f'JAVA_VERSION="{version}"\n')


@pytest.mark.parametrize("version", ["17.0.15", "25"])
def test_java_of_java_home_is_used(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert java.java_executable() == tmp_path / "bin" / "java"


@pytest.mark.parametrize(("version", "found"), [("11.0.2", "Java 11"), ("1.8.0_402", "Java 8")])
def test_old_java_is_refused_in_one_line_with_a_hint(
    version: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    with pytest.raises(JarError, match=f"found {found}, expected Java 17 or newer\nhint: "):
        java.java_executable()


def test_absent_java_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(JarError, match="PATH: found no java"):
        java.java_executable()

    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(JarError, match="JAVA_HOME: found /nowhere"):
        java.java_executable()


@pytest.mark.parametrize(
    ("output", "complaint"),
    [
        (":: module not found: a#b;1\n\tServer access error (java.net.X: refused)", "refused"),
        ("\t:: a#b;1: not found\n", "a#b;1: not found"),
        ("something else\n", "something else"),
        ("", "nothing"),
    ],
)
def test_the_complaint_is_the_line_that_names_the_cause(output: str, complaint: str) -> None:
    assert complaint in maven._ivy_complaint(output)
