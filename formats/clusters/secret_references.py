"""References to secrets, `${env:NAME}` and `${file:/path}`, and their resolution.

References occur only in the operators' file of Kafka clusters and schema registries. The parsers of the file check that each
reference names a variable or an absolute path. A process that reads Kafka resolves the references each time it begins to read
a topic. The service does not resolve them, so it never has a secret. Nothing that arrives over HTTP is passed to this module:
a client that could choose the path of a file could read the file.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from braid.lake import InvalidRequest, Problem

# A path has no `{`: each of many references that are not closed would be looked for to the end of the text.
_REFERENCE = re.compile(r"\$\{(env|file):([^{}]+)\}")
_ANY_REFERENCE = re.compile(r"\$\{[^}]*\}?")
_USABLE_REFERENCE = re.compile(r"\$\{(env:[A-Za-z_][A-Za-z0-9_]*|file:/[^{}]+)\}")


def unusable_references(text: str) -> list[str]:
    """Return the references in a text that name neither a variable nor an absolute path.

    >>> unusable_references("user=${env:USER} key=${file:key} ${vault:x} $plain")
    ['${file:key}', '${vault:x}']
    """
    return [
        found for found in _ANY_REFERENCE.findall(text) if not _USABLE_REFERENCE.fullmatch(found)
    ]


def has_reference(text: str) -> bool:
    """Return whether a text has a reference.

    >>> has_reference("user=${env:USER}"), has_reference("$ {env}")
    (True, False)
    """
    return _ANY_REFERENCE.search(text) is not None


def is_reference(text: str) -> bool:
    """Return whether a text is one reference and nothing else.

    >>> [
    ...     is_reference(text)
    ...     for text in ("${env:TOKEN}", "${file:/run/token}", "x${env:TOKEN}", "token")
    ... ]
    [True, True, False, False]
    """
    return _USABLE_REFERENCE.fullmatch(text) is not None


def resolve_secrets(
    options: Mapping[str, str],
    *,
    owner: str,
    field: str = "options",
    environment: Mapping[str, str] = os.environ,
    read_file: Callable[[str], str] = lambda path: Path(path).read_text(encoding="utf-8"),
) -> dict[str, str]:
    """Return options with `${env:NAME}` and `${file:/path}` replaced by the secrets.

    Args:
        options: Values by name, as an operator has written them.
        owner: The cluster or registry that the secrets belong to, for messages.
        field: Name of the field of the operators' file that has the options, for messages.
        environment: Variables by name.
        read_file: Returns the text of the file at an absolute path.

    Raises:
        InvalidRequest: A variable or file cannot be read; the message names it, without any secret.
    """

    def found(match: re.Match[str]) -> str:
        kind, name = match.groups()
        try:
            return environment[name] if kind == "env" else read_file(name).strip()
        except (KeyError, OSError, UnicodeDecodeError) as error:
            problem = Problem(
                field=field,
                value=match.group(),
                message="the variable is not set" if kind == "env" else "the file cannot be read",
                hint="set the variable for the process that needs it"
                if kind == "env"
                else "create the file as UTF-8 text that the process that needs it may read",
            )
            text = f"a secret of {owner} cannot be read"
            raise InvalidRequest(text, problems=[problem]) from error

    return {name: _REFERENCE.sub(found, value) for name, value in options.items()}
