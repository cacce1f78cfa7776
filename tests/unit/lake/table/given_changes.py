"""Tables (k INT, v STRING) for tests of changes: rows in as tuples, changes out as tuples."""

import pyarrow as pa

from braid.lake import Changes, Table

KINDS = {"+I": 0, "-U": 1, "+U": 2, "-D": 3}
SYMBOLS = {code: symbol for symbol, code in KINDS.items()}
ChangesBySnapshot = list[tuple[int, list[tuple[object, ...]]]]


def write(table: Table, *rows: tuple[str, int, str]) -> int:
    """Commit rows of the form (kind, k, v) and return the snapshot."""
    kinds, keys, values = zip(*rows, strict=True)
    return table.write_and_commit(
        pa.table({"k": pa.array(keys, pa.int32()), "v": pa.array(values)}),
        kinds=pa.array([KINDS[kind] for kind in kinds], pa.int8()),
    ).snapshot_id


def changes_by_snapshot(changes: Changes) -> ChangesBySnapshot:
    """Return the changes of each snapshot, kinds as symbols."""
    return [(part.snapshot_id, _rows_of(part.to_arrow())) for part in changes]


def _rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    kinds, *columns = table.columns
    symbols = [SYMBOLS[kind] for kind in kinds.to_pylist()]
    return list(zip(symbols, *(column.to_pylist() for column in columns), strict=True))
