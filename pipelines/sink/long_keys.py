"""Long keys: refusal of records whose keys are longer than the table allows, once their texts are exact."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.formats.dead_letter import DeadLetterReason
from braid.lake import key_is_long
from braid.pipelines.record_columns import KEY, REASON, value_column
from braid.pipelines.sink.row_refusal import refuse_rows
from braid.pipelines.stream_plan import StreamPlan


def refuse_long_keys(batch: pa.RecordBatch, plan: StreamPlan) -> pa.RecordBatch:
    """Return the batch, in which accepted records with too long keys are now refused.

    Spark has refused most of them already; exact texts may be longer than those it has measured.

    Args:
        batch: A batch that `parse.RecordParser` returns.
        plan: The stream.

    Returns:
        The same number of rows, in the same order.
    """
    columns = [batch.column(value_column(index)) for index in plan.long_key_columns]
    if not columns:
        return batch
    is_long = pc.and_(batch.column(REASON).is_null(), key_is_long(columns, plan.key_bytes_max))
    rows = np.flatnonzero(is_long.to_numpy(zero_copy_only=False)).tolist()
    return refuse_rows(batch, dict.fromkeys(rows, (DeadLetterReason.TOO_LARGE.value, KEY)))
