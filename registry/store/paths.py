"""Paths of the registry's directories and files on storage, and texts without the warehouse's address.

The modules that store versions of documents, questions and announced names have the names of these files.
"""

import re
from collections.abc import Callable

DIRECTORY = "_braid"  # no directory of a database: those end with `.db`
RUNNER_SUFFIX = ".json"


def tables_directory(warehouse: str) -> str:
    """Return the directory with one directory per table."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/tables"


def table_directory(warehouse: str, identifier: str) -> str:
    """Return the directory with the versions of one table's document."""
    return f"{tables_directory(warehouse)}/{identifier}"


def changes_directory(warehouse: str) -> str:
    """Return the directory with the counted changes of tables' documents."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/changes"


def runners_directory(warehouse: str) -> str:
    """Return the directory with one report per runner, which is its heartbeat."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/runners"


def runner_file(warehouse: str, runner: str) -> str:
    """Return the progress document of one runner."""
    return f"{runners_directory(warehouse)}/{runner}{RUNNER_SUFFIX}"


def lease_directory(warehouse: str, identifier: str, stream: str) -> str:
    """Return the directory with the versions of a lease: of a table's maintenance; in earlier versions of a stream."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/leases/{identifier}.{stream}"


def assignment_directory(warehouse: str) -> str:
    """Return the directory with the versions of the assignment of streams to runners."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/assignment"


def clock_file(warehouse: str) -> str:
    """Return the empty file whose modification time shows storage's clock to the process that overwrites it."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/clock"


def backfill_file(warehouse: str, identifier: str, stream: str, name: str) -> str:
    """Return the report of one backfill."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/backfills/{identifier}.{stream}/{name}.json"


def letter_questions_directory(warehouse: str) -> str:
    """Return the directory with the questions for dead letters, and their answers."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/letter-questions"


def requests_directory(warehouse: str) -> str:
    """Return the directory with the answers of requests that have an idempotency key."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/requests"


def operations_directory(warehouse: str) -> str:
    """Return the directory with the operations."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/operations"


def access_tokens_directory(warehouse: str) -> str:
    """Return the directory with the versions of the document of access tokens."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/access-tokens"


def new_names_directory(warehouse: str) -> str:
    """Return the directory with a file for each name of a table that is being created."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/new-names"


def audit_directory(warehouse: str) -> str:
    """Return the directory with one directory per day of the audit log."""
    return f"{warehouse.rstrip('/')}/{DIRECTORY}/audit"


def without_warehouse(warehouse: str) -> Callable[[str], str]:
    """Return a function that puts `<warehouse>` in place of the warehouse's address in a text.

    Example:
        >>> hide = without_warehouse("/data")
        >>> hide("/data/shop.db/orders is not readable, /database is")
        '<warehouse>/shop.db/orders is not readable, /database is'
    """
    # Whole path components only: /data is not removed from /database.
    address = re.compile(rf"{re.escape(warehouse)}(?![^/\s'\"`:;,])")
    return lambda text: address.sub("<warehouse>", text)
