"""Trial of a stream over HTTP: the result of each sample record, as `records.trial` computes it.

A stream whose messages or keys name their schemas by id cannot be tried.
"""

from collections.abc import Sequence

from braid.lake import TableSchema
from braid.records.stream_plan import plan_stream
from braid.records.trial import try_records
from braid.schemas import SampleRecord, StreamSpec, TableDocument
from braid.schemas.api import StreamValidation
from braid.schemas.field_problems import problem_at


def tried_stream(
    document: TableDocument,
    schema: TableSchema,
    stream: StreamSpec,
    samples: Sequence[SampleRecord],
) -> StreamValidation:
    """Return what would become of sample records of an admitted stream.

    Args:
        document: The document of the stream's table.
        schema: The table's schema.
        stream: The completed stream.
        samples: The records.

    Raises:
        InvalidRequest: The table was changed without the registry, and has not what the stream needs.
    """
    if not samples:
        return StreamValidation(valid=True, errors=())
    if stream.schema_registry is not None:
        # Only runners have logins of registries.
        problem = problem_at(
            "samples",
            message="messages or keys of the stream name their schemas by id, which the service cannot look up",
            hint="leave `samples` out, or try the stream with the schema in its declaration",
        )
        return StreamValidation(valid=False, errors=(problem,))
    plan = plan_stream(
        table=document.identifier,
        spec=document.table,
        stream=stream,
        schema=schema,
        other_streams=[entry.spec for entry in document.streams.values()],
    )
    return StreamValidation(
        valid=True, errors=(), samples=tuple(try_records(plan, schema, samples))
    )
