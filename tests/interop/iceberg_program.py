"""Reads tables by their Iceberg metadata; runs where pyiceberg is importable (`iceberg_reader`).

Arguments: a folder, and questions as JSON: each the directory of metadata, and perhaps a tag, a snapshot or a filter.
The answer to question `n` is `<folder>/<n>.arrow`, or `<n>.txt` with the reason why there is none.
"""

import json
import sys
import traceback
from pathlib import Path

import pyarrow as pa
from pyiceberg.table import StaticTable  # type: ignore[import-not-found, unused-ignore]


def main(folder: str, questions: str) -> None:
    """Answer the questions."""
    for number, question in enumerate(json.loads(questions)):
        try:
            rows = answer(**question)
        except Exception:  # noqa: BLE001 - the reader's verdict, whatever it is
            Path(folder, f"{number}.txt").write_text(traceback.format_exc())
            continue
        path = f"{folder}/{number}.arrow"
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, rows.schema) as out:
            out.write_table(rows)


def answer(
    directory: str,
    tag: str | None = None,
    snapshot: int | None = None,
    row_filter: str | None = None,
) -> pa.Table:
    """Return the rows of a table."""
    version = Path(directory, "version-hint.text").read_text()
    table = StaticTable.from_metadata(f"{directory}/v{version}.metadata.json")
    if tag is not None:
        snapshot = table.snapshot_by_name(tag).snapshot_id
    scan = table.scan(snapshot_id=snapshot)
    if row_filter is not None:
        # A file that the bounds exclude is left out here already.
        scan = scan.filter(row_filter)
    return scan.to_arrow()


if __name__ == "__main__":
    main(*sys.argv[1:])
