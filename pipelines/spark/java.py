"""Java for Spark, Kafka and the jar resolver: its location and the check of its version; the error of missing jars.

Imports nothing outside the standard library, so that set-up can call it before anything is installed.
"""

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

JAVA_VERSION_MIN = 17
_HINT = "apt-get install openjdk-17-jre-headless, brew install openjdk@17, or set JAVA_HOME"


class JarError(RuntimeError):
    """Something that Java programs need is missing, or not as expected.

    Attributes:
        what: What was checked.
        found: What was found.
        expected: What was expected.
        hint: How to fix it.
    """

    def __init__(self, *, what: str, found: str, expected: str, hint: str) -> None:
        super().__init__(f"{what}: found {found}, expected {expected}\nhint: {hint}")
        self.what = what
        self.found = found
        self.expected = expected
        self.hint = hint


def java_executable() -> Path:
    """Return the `java` of JAVA_HOME, else of PATH; its version is checked.

    Raises:
        JarError: Java is missing or older than Java 17, or JAVA_HOME is wrong.
    """
    expected = f"Java {JAVA_VERSION_MIN} or newer"
    home = os.environ.get("JAVA_HOME")
    found = Path(home) / "bin" / "java" if home else Path(shutil.which("java") or "")
    if not found.is_file():
        what, value = ("JAVA_HOME", str(home)) if home else ("PATH", "no java")
        raise JarError(what=what, found=value, expected=expected, hint=_HINT)
    version = _major_version(found)
    if version is None or version < JAVA_VERSION_MIN:
        value = "no version" if version is None else f"Java {version}"
        raise JarError(what=str(found), found=value, expected=expected, hint=_HINT)
    return found


@cache
def _major_version(java: Path) -> int | None:
    # The release file has the version; starting a JVM to ask takes a tenth of a second.
    release = java.resolve().parents[1] / "release"
    if release.is_file():
        text = release.read_text(encoding="utf-8", errors="replace")
    else:
        ran = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
        text = ran.stderr
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', text)
    return int(match.group(1)) if match else None


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{java_executable()}\n")
    except JarError as error:
        sys.exit(f"java: {error}")
