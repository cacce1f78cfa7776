"""Options of the table format for the declared time to live of rows.

Pure. The rules for the declaration are in `braid.registry.rules.tables.row_ttl`.
"""

from typing import Final

from braid.schemas import TableSpec

EXPIRE_TIME: Final = "record-level.expire-time"
TIME_FIELD: Final = "record-level.time-field"


def expiry_options(spec: TableSpec) -> dict[str, str]:
    """Return the options of the table format for the declared time to live; none without one."""
    ttl = spec.row_ttl
    return {} if ttl is None else {EXPIRE_TIME: f"{ttl.seconds} s", TIME_FIELD: ttl.column}
