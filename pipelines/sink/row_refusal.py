"""Refusal of rows in Python, for records in which Spark's checks have found no fault."""

from collections.abc import Mapping

import pyarrow as pa

from braid.pipelines.record_columns import DETAIL, REASON


def refuse_rows(
    batch: pa.RecordBatch, refusals: Mapping[int, tuple[str, str | None]]
) -> pa.RecordBatch:
    """Return the batch with some rows refused.

    Args:
        batch: A batch that `parse.RecordParser` returns.
        refusals: The reason and its detail, by position of the row. A row that is refused already
            keeps its reason, which was found first.

    Returns:
        The same number of rows, in the same order.
    """
    if not refusals:
        return batch
    assert max(refusals) < batch.num_rows, "refusals are positions of rows"
    reason, detail = batch.column(REASON).to_pylist(), batch.column(DETAIL).to_pylist()
    for row, refusal in refusals.items():
        if reason[row] is None:
            reason[row], detail[row] = refusal
    return replace_columns(
        batch, {REASON: pa.array(reason, pa.string()), DETAIL: pa.array(detail, pa.string())}
    )


def replace_columns(batch: pa.RecordBatch, columns: Mapping[str, pa.Array]) -> pa.RecordBatch:
    """Return the batch with columns replaced by new ones of the same names and lengths."""
    for name, column in columns.items():
        index = batch.schema.get_field_index(name)
        assert index >= 0, f"the batch has a column {name}"
        batch = batch.set_column(index, name, column)
    return batch
