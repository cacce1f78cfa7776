"""Reader of YAML and JSON documents in files, folders and standard input, with the line of each value.

A file may have several documents, separated by `---`. Plain scalars have the types of YAML 1.2's core schema, so that `no`, `on` and
`2026-01-31` are texts, and numbers are decimal. A key that is given twice, a tag and an alias that would make the document grow without
bound are refused.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from braid.cli.arguments import refuse
from braid.schemas.field_problems import json_pointer
from braid.schemas.problem import JsonPath

STANDARD_INPUT: Final = "-"
SUFFIXES: Final = (".yaml", ".yml", ".json")
_BYTES_MAX: Final = 8 << 20
_VALUES_MAX: Final = 500_000
_DEPTH_MAX: Final = 64
_SHOWN_MAX: Final = 300
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {
    text: text.lower() == "true" for text in ("true", "True", "TRUE", "false", "False", "FALSE")
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,640}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TEXT_TAG: Final = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document of a file.

    Attributes:
        source: The file, as it was named; `-` for standard input.
        value: JSON values.
        lines: The line of each value, from 1, by its RFC 6901 pointer; empty for JSON.
    """

    source: str
    value: Any
    lines: Mapping[str, int] = field(default_factory=dict)

    def place(self, pointer: str | None = None) -> str:
        """Return the file, and the line of a value or of what surrounds it, such as `orders.yaml:12`."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        line = self.lines.get(pointer or "")
        return self.source if line is None else f"{self.source}:{line}"


def read_documents(sources: Sequence[str]) -> list[Document]:
    """Return the documents of files, of all files of folders, and of standard input; exit with one line if one cannot be read.

    Args:
        sources: Paths, and `-` for standard input. Of a folder its files with the suffixes `SUFFIXES`, in the order of their names;
            folders in it are not read.
    """
    return [
        document
        for source in sources
        for path in _files(source)
        for document in parse_documents(_text(path), source=path)
    ]


def parse_documents(text: str, *, source: str) -> list[Document]:
    """Return the documents of a text; exit with one line if it is neither YAML nor JSON.

    Args:
        text: JSON if it begins like an object or a list and is JSON, else YAML.
        source: The name of its file.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [Document(source=source, value=json.loads(text))]
        except RecursionError:
            refuse("FILE", source, f"expected at most {_DEPTH_MAX} levels")
        except ValueError:
            pass  # YAML has such a form, too
    try:
        return list(_yaml_documents(text, source))
    except yaml.YAMLError as error:
        message = " ".join(str(error).split())
        refuse("FILE", source, f"expected YAML or JSON: {message[:_SHOWN_MAX]}")
    except RecursionError:
        refuse("FILE", source, f"expected at most {_DEPTH_MAX} levels")


def _files(source: str) -> list[str]:
    if source == STANDARD_INPUT:
        return [source]
    path = Path(source)
    if not path.is_dir():
        return [source]
    found = sorted(one for one in path.iterdir() if one.suffix in SUFFIXES and one.is_file())
    if not found:
        refuse("FILE", source, f"the folder has no file with a name in {', '.join(SUFFIXES)}")
    return [str(one) for one in found]


def _text(path: str) -> str:
    try:
        if path == STANDARD_INPUT:
            data = sys.stdin.buffer.read(_BYTES_MAX + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(_BYTES_MAX + 1)
        if len(data) > _BYTES_MAX:
            refuse("FILE", path, f"expected at most {_BYTES_MAX >> 20} MiB")
        return data.decode()
    except OSError as error:
        refuse("FILE", path, f"cannot be read: {error.strerror}")
    except UnicodeDecodeError as error:
        refuse("FILE", path, f"expected UTF-8: {error}")


def _yaml_documents(text: str, source: str) -> Iterator[Document]:
    # The base loader decides no types: every scalar without a tag is a text, and `_scalar` decides.
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    for root in yaml.compose_all(text, Loader=loader):
        reading = _Reading(source)
        value = reading.value(root, ())
        if value is not None:  # an empty document, as after a last `---`
            yield Document(source=source, value=value, lines=reading.lines)


class _Reading:
    """The conversion of one document's nodes to values."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._count = 0
        self.lines: dict[str, int] = {}

    def value(self, node: Any, path: JsonPath) -> Any:
        """Return the value of a node, and note the lines of all values below it."""
        line = node.start_mark.line + 1
        self._count += 1
        if self._count > _VALUES_MAX:
            self._refuse(
                line,
                f"expected at most {_VALUES_MAX} values; aliases count as often as they are used",
            )
        if len(path) > _DEPTH_MAX:
            self._refuse(line, f"expected at most {_DEPTH_MAX} levels")
        self.lines[json_pointer(path)] = line
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, number)) for number, item in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode):
            return self._object(node, path)
        if node.tag != _TEXT_TAG:
            self._refuse(line, f"expected a value without the tag {node.tag}")
        return node.value if node.style else _scalar(node.value)  # a plain scalar has no style

    def _object(self, node: Any, path: JsonPath) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                self._refuse(line, "expected a text as a key")
            if key.value in values:
                self._refuse(line, f"the key {key.value} is given twice")
            values[key.value] = self.value(value, (*path, key.value))
            self.lines[json_pointer((*path, key.value))] = line
        return values

    def _refuse(self, line: int, message: str) -> None:
        refuse("FILE", f"{self._source}:{line}", message)


def _scalar(text: str) -> Any:
    """Return the value of a plain scalar.

    >>> [_scalar(text) for text in ("7", "1e3", "true", "no", "~", "2026-01-31", "1_000", "0x1f")]
    [7, 1000.0, True, 'no', None, '2026-01-31', '1_000', '0x1f']
    """
    if text in _NULL:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text
