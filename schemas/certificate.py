"""The certificate of a row: its records and merge rules, from which the row is merged again elsewhere."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from braid.schemas.contract import Contract, at_most

CERTIFICATE_VERSION: Final = 1
RECORDS_MAX: Final = 500


class CertifiedRecord(Contract):
    """A version of the row.

    Attributes:
        sequence_number: The number that orders versions.
        kind: The row kind: `+I`, `-U`, `+U` or `-D`.
        stream: The stream that has written it; None: not known, or several.
        snapshot_id: The snapshot that has written it; None: it has expired, or a compaction has written the version.
        compacted: Whether a compaction has merged it from versions that do not exist any more.
        values: Its values by column, as in a row, the key and columns that are not shown in rows included; columns
            that are null are left out.
    """

    sequence_number: Annotated[int, Field(strict=True)]
    kind: Annotated[str, Field(pattern=r"^(\+I|-U|\+U|-D)$")]
    stream: str | None = None
    snapshot_id: int | None = None
    compacted: bool = False
    values: Mapping[str, Any]


class CertifiedSnapshot(Contract):
    """The snapshot that the row was read from.

    Attributes:
        id: Its id.
        uuid: Its unique id: after a rollback another snapshot has the same number; None: another engine made it.
        commit_time: Time of the commit, ISO 8601, UTC.
    """

    id: int
    uuid: str | None
    commit_time: str


class RowCertificate(Contract):
    """A row with everything that its values follow from.

    Attributes:
        version: Version of this format.
        table: `<database>.<table>`.
        key: The primary key.
        snapshot: The snapshot; None: the table has none.
        table_schema: The schema file of the table format: columns, keys, and as `options` the rules of merging.
        records: The versions of the row, in the order in which a read finds them.
        row: The row that they merge into; None: there is no row.
        winners: By column, the number of the record that gives its value; None: no single one does.
    """

    version: Literal[1] = CERTIFICATE_VERSION
    table: str
    key: Mapping[str, Any]
    snapshot: CertifiedSnapshot | None
    table_schema: Mapping[str, Any]
    records: Annotated[tuple[CertifiedRecord, ...], at_most(RECORDS_MAX)]
    row: Mapping[str, Any] | None
    winners: Mapping[str, int | None]
