"""Table of a case of the merge benchmark: each bucket has four level-0 files with overlapping keys."""

from benchmarks.merging.cases import Case
from benchmarks.merging.rows import FILES, records_of_file
from braid.lake import Catalog, Table


def write_table(catalog: Catalog, name: str, case: Case, *, rows: int, buckets: int) -> Table:
    """Create and fill the table; each file is a commit.

    Args:
        catalog: Where.
        name: Of the table.
        case: What.
        rows: Of all files together, about.
        buckets: Of the table.

    Raises:
        InvalidRequest: This version cannot write or merge such a table.
    """
    table = catalog.create_table(
        f"bench.{name}",
        columns=case.all_columns,
        primary_key=[column for column, _ in case.key],
        options={**case.table_options, "bucket": str(buckets)},
    )
    for file in range(FILES):
        writer = table.writer()
        for records in records_of_file(case, file, rows=rows):
            writer.write(records.rows, kinds=records.kinds)
        result = writer.prepare_commit()
        assert result.rows_folded == 0, "a file holds a key once"
        table.committer().commit(
            result.messages,
            commit_user="bench",
            commit_identifier=file,
            next_sequence_number=(result.max_sequence_number or 0) + 1,
        )
    return table


def rows_in_files(table: Table) -> int:
    """Return the records that merging the table takes in."""
    snapshot = table.latest_snapshot()
    assert snapshot is not None
    return sum(entry.file.row_count for entry in table.live_files(snapshot))
