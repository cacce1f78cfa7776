"""The JVM's log configuration, as Java reads a properties file."""

import re
from pathlib import Path

from braid.pipelines.spark.session import _write_log4j


def test_a_message_of_the_jvm_is_cut_to_its_first_line(tmp_path: Path) -> None:
    text = _write_log4j(tmp_path, "error", ("org.example",)).read_text()
    (pattern,) = re.findall(r"layout\.pattern=(.*)", text)
    # A backslash of a properties file is written twice.
    read = pattern.replace("\\\\", "\\")

    assert r"%replace{%m}{(?s)\R.*}{}%n" in read
    assert read.count("\\") * 2 == pattern.count("\\")
    assert "logger.silent0.name=org.example\nlogger.silent0.level=off\n" in text
