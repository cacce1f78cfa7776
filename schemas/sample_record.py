"""Contract of a sample record: a Kafka record that a request or a declaration gives."""

from pydantic import Field

from braid.schemas.contract import INT_MAX
from braid.schemas.pushed_records import PushedRecord


class SampleRecord(PushedRecord):
    """A Kafka record with its place, as if it had been read.

    Attributes:
        partition: The Kafka partition.
        offset: The offset in it; None: the place of the record among the samples.
    """

    partition: int = Field(default=0, strict=True, ge=0, le=INT_MAX)
    offset: int | None = Field(default=None, strict=True, ge=0, lt=2**63)
