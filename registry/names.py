"""Rules for the names of databases, tables, columns, groups, streams, topics and runners.

Names become directories, option keys, commit users and parts of generated column names, so they have plain characters
only. Some readers of the format fold case, so two names of databases, tables, columns, groups or streams must differ
in more than case. `check_distinct` checks this for columns and groups, `stream_rules` for streams, and
`table_creator` for databases and tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from braid.schemas import FieldProblem
from braid.schemas.field_problems import problem_at
from braid.schemas.problem import JsonPath

LENGTH_MAX = 128
ADDRESS_LENGTH_MAX = 80  # `<database>.<table>.<stream>` names a directory: 255 bytes
TOPIC_LENGTH_MAX = 249  # Kafka's own limit

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TOPIC = re.compile(r"[A-Za-z0-9._-]+")
_RUNNER = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_ADDRESS_KINDS = ("database", "table", "stream")
_RESERVED_DATABASES = ("sys",)  # where readers of the format keep their system tables
_RESERVED_COLUMNS = ("rowkind",)  # a system column; the others start with `_`


def check_name(name: str, *path: str | int, kind: str) -> Iterator[FieldProblem]:
    """Yield the problem of a name's characters or length."""
    length_max = ADDRESS_LENGTH_MAX if kind in _ADDRESS_KINDS else LENGTH_MAX
    if not _NAME.fullmatch(name) or len(name) > length_max:
        yield problem_at(
            *path,
            value=name,
            message=f"the name of a {kind} is a letter, then letters, digits and `_`, "
            f"at most {length_max} characters",
            hint=_suggestion(name, length_max),
        )


def is_identifier(identifier: str) -> bool:
    """Return whether a text has the form `<database>.<table>`; reserved names are not checked."""
    parts = identifier.split(".")
    return len(parts) == 2 and all(
        _NAME.fullmatch(part) and len(part) <= ADDRESS_LENGTH_MAX for part in parts
    )


def is_runner_name(name: str) -> bool:
    """Return whether a name is valid for a runner; it becomes the name of a file."""
    return _RUNNER.fullmatch(name) is not None and len(name) <= LENGTH_MAX


def check_database(name: str, *path: str | int) -> Iterator[FieldProblem]:
    """Yield the problems of a database's name."""
    yield from check_name(name, *path, kind="database")
    if name.lower() in _RESERVED_DATABASES:
        yield problem_at(
            *path,
            value=name,
            message="this name is reserved for the system tables of the table format",
            hint="choose another name",
        )


def check_column_name(name: str, *path: str | int) -> Iterator[FieldProblem]:
    """Yield the problems of a column's name."""
    yield from check_name(name, *path, kind="column")
    if name.lower() in _RESERVED_COLUMNS:
        yield problem_at(
            *path,
            value=name,
            message="this is the name of a system column of the table format",
            hint="choose another name",
        )


def is_column_name(name: str) -> bool:
    """Return whether a name is valid for a column."""
    return not any(check_column_name(name))


def check_topic(topic: str, *path: str | int) -> Iterator[FieldProblem]:
    """Yield the problem of a Kafka topic's name."""
    if not _TOPIC.fullmatch(topic) or topic in (".", "..") or len(topic) > TOPIC_LENGTH_MAX:
        yield problem_at(
            *path,
            value=topic,
            message="a Kafka topic has letters, digits, `.`, `_` and `-`, "
            f"at most {TOPIC_LENGTH_MAX} characters",
            hint="give the topic's name as Kafka lists it",
        )


def check_distinct(
    names: Sequence[str], paths: Iterable[JsonPath], *, kind: str
) -> Iterator[FieldProblem]:
    """Yield the names that equal an earlier one, or differ from it in case only."""
    seen: dict[str, str] = {}
    for name, path in zip(names, paths, strict=True):
        earlier = seen.get(name.lower())
        if earlier is None:
            seen[name.lower()] = name
        elif earlier == name:
            yield problem_at(
                *path,
                value=name,
                message=f"the {kind} `{name}` is named twice",
                hint="name it once",
            )
        else:
            hint = "readers that fold case could not distinguish them; rename one"
            yield case_problem(name, *path, kind=kind, other=earlier, hint=hint)


def case_problem(name: str, *path: str | int, kind: str, other: str, hint: str) -> FieldProblem:
    """Return the problem of a name that differs from another one in case only."""
    message = f"differs from the {kind} `{other}` in case only"
    return problem_at(*path, value=name, message=message, hint=hint)


def _suggestion(name: str, length_max: int) -> str:
    plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_")[:length_max]
    return f"for example `{plain}`" if _NAME.fullmatch(plain) else "choose another name"
