"""Maven downloads: jars from `~/.m2/repository`, else from the repository that this machine is configured for.

The repository is, in this order:

1. `MAVEN_REPO_URL`, if set;
2. the first `<mirror>` of `~/.m2/settings.xml` that covers Central, with the login of the
   `<server>` of the same id (`${env.NAME}` is expanded);
3. Apache Ivy's built-in default, which is Central.

Apache Ivy does the work: pyspark bundles it, so only Java is needed. It fetches exactly the requested jars,
without poms and dependencies: the lock file lists the dependencies already, and the connector's own poms
name releases that do not exist in every repository.
"""

import os
import re
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from xml.sax.saxutils import quoteattr

from braid.pipelines.spark.java import JarError, java_executable

_MIRRORS_OF_CENTRAL = frozenset({"*", "central", "external:*"})
_REALM_TIMEOUT_S = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinate:
    """The name of one jar, `org:name:version`, or of another file, `org:name:version:classifier@extension`."""

    org: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    @classmethod
    def parse(cls, text: str) -> "Coordinate":
        """Return the coordinate of a text in one of the two forms.

        Example:
            >>> Coordinate.parse("org.slf4j:slf4j-api:2.0.17").file_name
            'slf4j-api-2.0.17.jar'
            >>> Coordinate.parse("org.test:server:1.0:all@tar.gz").file_name
            'server-1.0-all.tar.gz'
        """
        parts, _, extension = text.partition("@")
        org, name, version, *classifier = parts.split(":")
        return cls(
            org=org,
            name=name,
            version=version,
            classifier=":".join(classifier),
            extension=extension or "jar",
        )

    @property
    def file_name(self) -> str:
        """The file's name in every Maven repository."""
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.name}-{self.version}{classifier}.{self.extension}"

    def __str__(self) -> str:
        classifier = f":{self.classifier}" if self.classifier else ""
        extension = f"@{self.extension}" if self.extension != "jar" else ""
        return f"{self.org}:{self.name}:{self.version}{classifier}{extension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A Maven repository; without a url, Ivy's built-in default."""

    url: str | None = None
    user: str | None = None
    password: str | None = None


def find_repository(settings: Path | None = None) -> Repository:
    """Return the repository this machine is configured for.

    Args:
        settings: Maven's settings file; default `~/.m2/settings.xml`. May be absent.

    Raises:
        JarError: The settings file is not XML.
    """
    url = os.environ.get("MAVEN_REPO_URL")
    if url:
        return Repository(url=url)
    path = settings or Path.home() / ".m2" / "settings.xml"
    if not path.exists():
        return Repository()
    try:
        root = ET.parse(path).getroot()  # noqa: S314  (the user's own file, which mvn trusts as well)
    except ET.ParseError as error:
        hint = "fix the file, or set MAVEN_REPO_URL"
        raise JarError(what=str(path), found=str(error), expected="XML", hint=hint) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    mirrors = (mirror for mirror in root.iterfind("mirrors/mirror") if _covers_central(mirror))
    mirror = next(mirrors, None)
    if mirror is None:
        return Repository()
    servers = root.iterfind("servers/server")
    server = next((s for s in servers if _text(s, "id") == _text(mirror, "id")), None)
    return Repository(
        url=_text(mirror, "url"),
        user=_text(server, "username") if server is not None else None,
        password=_text(server, "password") if server is not None else None,
    )


def download(jars: Sequence[Coordinate], into: Path, repository: Repository) -> None:
    """Download the jars into a folder, under their own file names.

    Args:
        jars: At most one version of a name: Ivy would keep only the newer one.
        into: An existing folder.
        repository: Used for jars that the local `~/.m2/repository` does not have.

    Raises:
        JarError: A jar could not be downloaded; the message has Ivy's error.
    """
    with tempfile.TemporaryDirectory(prefix=".ivy-", dir=into) as folder:
        work = Path(folder)
        (work / "settings.xml").write_text(_settings_xml(work / "cache", repository))
        (work / "ivy.xml").write_text(_module_xml(jars))
        command = [
            *(str(java_executable()), *_proxy_flags(), "-cp", str(_ivy_jar())),
            *("org.apache.ivy.Main", "-novalidate", "-warn"),
            *("-settings", str(work / "settings.xml"), "-ivy", str(work / "ivy.xml")),
            *("-retrieve", str(work / "got" / "[artifact]-[revision](-[classifier]).[ext]")),
        ]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        missing = [jar for jar in jars if not (work / "got" / jar.file_name).exists()]
        if missing:
            names = ", ".join(str(jar) for jar in missing[:5])
            raise JarError(
                what=f"{len(missing)} of {len(jars)} jars from {repository.url or 'Maven Central'}",
                found=_ivy_complaint(ran.stdout + ran.stderr),
                expected=names + (", ..." if len(missing) > 5 else ""),
                hint="where a mirror is used, set MAVEN_REPO_URL or a <mirror> in ~/.m2/settings.xml",
            )
        for jar in jars:
            (work / "got" / jar.file_name).replace(into / jar.file_name)


def _covers_central(mirror: ET.Element) -> bool:
    names = {name.strip() for name in _text(mirror, "mirrorOf").split(",")}
    is_blocked = _text(mirror, "blocked") == "true"
    return not is_blocked and "!central" not in names and bool(_MIRRORS_OF_CENTRAL & names)


def _text(element: ET.Element, name: str) -> str:
    text = (element.findtext(name) or "").strip()
    return re.sub(r"\$\{env\.(\w+)\}", lambda match: os.environ.get(match[1], match[0]), text)


def _module_xml(jars: Sequence[Coordinate]) -> str:
    dependencies = "".join(
        f"<dependency org={quoteattr(jar.org)} name={quoteattr(jar.name)}"
        f' rev={quoteattr(jar.version)} transitive="false">{_artifact_xml(jar)}</dependency>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
        '<info organisation="braid" module="jars"/>'
        f"<dependencies>{dependencies}</dependencies></ivy-module>"
    )


def _artifact_xml(jar: Coordinate) -> str:
    """Return which file of a module is meant; a plain jar needs no mention."""
    if not jar.classifier and jar.extension == "jar":
        return ""
    extension = quoteattr(jar.extension)
    return (
        f"<artifact name={quoteattr(jar.name)} type={extension} ext={extension}"
        f" m:classifier={quoteattr(jar.classifier)}/>"
    )


def _settings_xml(cache: Path, repository: Repository) -> str:
    options = 'm2compatible="true" usepoms="false" useMavenMetadata="false"'
    local = (Path.home() / ".m2" / "repository").as_uri() + "/"
    remote = f" root={quoteattr(repository.url.rstrip('/') + '/')}" if repository.url else ""
    return (
        f'<ivysettings><settings defaultResolver="all"/>{_credentials_xml(repository)}'
        f"<caches defaultCacheDir={quoteattr(str(cache))}/>"
        '<resolvers><chain name="all" returnFirst="true">'
        f'<ibiblio name="local" {options} root={quoteattr(local)}/>'
        f'<ibiblio name="remote" {options}{remote}/>'
        "</chain></resolvers></ivysettings>"
    )


def _credentials_xml(repository: Repository) -> str:
    if not repository.url or not repository.user:
        return ""
    host = urllib.parse.urlsplit(repository.url).hostname or ""
    return (
        f"<credentials realm={quoteattr(_realm(repository.url))} host={quoteattr(host)}"
        f" username={quoteattr(repository.user)} passwd={quoteattr(repository.password or '')}/>"
    )


def _realm(url: str) -> str:
    """Return the realm of a repository's login: Ivy looks a login up by realm and host."""
    try:
        with urllib.request.urlopen(url, timeout=_REALM_TIMEOUT_S):  # noqa: S310  (configured by the user)
            return ""
    except urllib.error.HTTPError as error:
        match = re.search(r'realm="([^"]*)"', error.headers.get("WWW-Authenticate") or "")
        return match.group(1) if match else ""
    except OSError:
        return ""  # Ivy also fails on this URL, with a better message


def _proxy_flags() -> list[str]:
    """Return the environment's proxy as flags of the JVM, which does not read the environment."""
    proxy = os.environ.get("https_proxy") or os.environ.get("HTTPS_PROXY")
    if not proxy:
        return []
    parts = urllib.parse.urlsplit(proxy if "//" in proxy else f"//{proxy}")
    direct = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or "localhost,127.0.0.1"
    hosts = [host.strip() for host in direct.split(",") if host.strip()]
    patterns = "|".join(f"*{host}" if host.startswith(".") else host for host in hosts)
    return [
        f"-Dhttps.proxyHost={parts.hostname}",
        f"-Dhttps.proxyPort={parts.port or 443}",
        f"-Dhttp.nonProxyHosts={patterns}",
    ]


def _ivy_jar() -> Path:
    spec = find_spec("pyspark")
    folder = Path(spec.origin).parent / "jars" if spec and spec.origin else None
    jars = sorted(folder.glob("ivy-*.jar")) if folder else []
    if not jars:
        hint = "run make setup"
        raise JarError(what="pyspark", found="no bundled Ivy", expected="ivy-*.jar", hint=hint)
    return jars[-1]


def _ivy_complaint(output: str) -> str:
    """Return the most informative line of Ivy's output: why a server failed, else what was not found."""
    lines = [line.strip(" :\t") for line in output.splitlines() if line.strip(" :\t")]
    for pattern in (r"\(.*Exception.*\)|denied|\b40\d\b", r"xception|rror", r"not found"):
        telling = next((line for line in lines if re.search(pattern, line)), None)
        if telling:
            return telling[:500]
    return lines[-1][:500] if lines else "nothing"
