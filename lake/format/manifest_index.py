"""The index of a sorted manifest: at which bucket each of its blocks begins.

A manifest whose entries are sorted by partition and bucket has the entries of a bucket in one block, or in a few
consecutive ones. Where blocks are is known from their headers. What a block begins with is known when it has been
decompressed, so a search for a bucket does that with a few blocks alone, and the index keeps what they begin with. The entries of a
bucket are then decoded from the bytes of its blocks.

Source: table-format 5.2; Apache Avro 1.11 specification, "Object Container Files".
"""

from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import pairwise

from braid.lake.errors import CorruptData
from braid.lake.format.avro.binary import AvroDecoder
from braid.lake.format.avro.container import AvroBlock, read_blocks
from braid.lake.format.bucket import BucketId
from braid.lake.format.manifest import (
    MANIFEST_KIND,
    ManifestEntry,
    check_end,
    check_supported,
    data_file_field_count,
    decode_entry,
    first_bucket,
)

ReadBlock = Callable[[int], bytes]
"""From the number of a block to its compressed bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPlace:
    """Where a block of a manifest is.

    Attributes:
        offset: Where its compressed bytes begin in the file.
        size: How many they are.
        count: Number of its entries.
    """

    offset: int
    size: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestIndex:
    """The blocks of one sorted manifest; safe between threads.

    Attributes:
        codec: Name of the compression.
        field_count: Number of fields of the file in an entry.
        blocks: In file order.
    """

    codec: str
    field_count: int
    blocks: tuple[BlockPlace, ...]
    _firsts: dict[int, BucketId] = field(default_factory=dict, repr=False, compare=False)

    def holding(self, buckets: Collection[BucketId], read: ReadBlock) -> list[int]:
        """Return the numbers of the blocks that may have entries of some buckets, ascending.

        Args:
            buckets: Serialised partition row and bucket number of each.
            read: Is called for blocks whose first entry is not known yet: as many as the logarithm of their number
                where all entries are of one partition, otherwise all.

        Raises:
            CorruptData: A block cannot be read.
            UnsupportedFeature: This version does not support the version of an entry or the codec.
        """
        count = len(self.blocks)
        if not count:
            return []
        partition, _ = self._first(0, read)
        if self._first(count - 1, read)[0] == partition:
            found = [
                number
                for wanted, bucket in buckets
                # The last block may have entries of more partitions.
                for number in (
                    self._holding_bucket(bucket, read) if wanted == partition else [count - 1]
                )
            ]
            return sorted(set(found))
        self.know_all(read)
        firsts = [*(self._firsts[number] for number in range(count)), None]
        return [
            number
            for number, (first, following) in enumerate(pairwise(firsts))
            if first is not None and _may_hold(first, following, buckets)
        ]

    def know_all(self, read: ReadBlock) -> None:
        """Read the first entry of every block that is not known yet; raises as `holding`."""
        for number in range(len(self.blocks)):
            self._first(number, read)

    def _holding_bucket(self, bucket: int, read: ReadBlock) -> range:
        """Return the blocks that may have entries of a bucket, where all blocks begin with one partition."""
        numbers = range(len(self.blocks))

        def bucket_of(number: int) -> int:
            return self._first(number, read)[1]

        # The block before the first one that begins with the bucket may end with it.
        start = end = bisect_left(numbers, bucket, key=bucket_of)
        while end < len(numbers) and bucket_of(end) == bucket:
            end += 1
        return range(max(0, start - 1), end)

    def _first(self, number: int, read: ReadBlock) -> BucketId:
        """Return the partition and bucket of the first entry of a block."""
        known = self._firsts.get(number)
        if known is None:
            block = AvroBlock(
                count=self.blocks[number].count, compressed=read(number), codec=self.codec
            )
            try:
                known = first_bucket(AvroDecoder(block.data(what=MANIFEST_KIND)))
            except IndexError as error:
                raise _unreadable(number, error) from error
            self._firsts[number] = known
        return known

    def decode(self, number: int, compressed: bytes, *, is_reduced: bool) -> list[ManifestEntry]:
        """Return the entries of a block.

        Args:
            number: Of the block.
            compressed: Its bytes.
            is_reduced: Whether large value statistics are reduced (`ReducedStats`).

        Raises:
            As `decode_manifest`.
        """
        count = self.blocks[number].count
        block = AvroBlock(count=count, compressed=compressed, codec=self.codec)
        decoder = AvroDecoder(block.data(what=MANIFEST_KIND))
        try:
            entries = [
                entry
                for _ in range(count)
                if (entry := decode_entry(decoder, self.field_count, is_reduced=is_reduced))
            ]
            check_end(decoder, count)
        except (IndexError, UnicodeDecodeError) as error:
            raise _unreadable(number, error) from error
        for entry in entries:
            check_supported(entry.file)
        return entries


def index_of(data: bytes) -> ManifestIndex | None:
    """Return the index of a sorted manifest file; None if its entries have not the layout of this engine.

    Args:
        data: The file: the entries of a partition are together, and sorted by bucket.

    Raises:
        CorruptData: The bytes are not an Avro file.
    """
    schema, blocks = read_blocks(data, what=MANIFEST_KIND)
    field_count = data_file_field_count(schema)
    if field_count is None:
        return None
    places = tuple(
        BlockPlace(offset=block.offset, size=len(block.compressed), count=block.count)
        for block in blocks
    )
    codec = blocks[0].codec if blocks else ""
    return ManifestIndex(codec=codec, field_count=field_count, blocks=places)


def _unreadable(number: int, error: Exception) -> CorruptData:
    return CorruptData(f"block {number} of a {MANIFEST_KIND} cannot be read: {error}")


def _may_hold(first: BucketId, following: BucketId | None, buckets: Collection[BucketId]) -> bool:
    """Return whether a block that begins with one bucket, before one that begins with another, may have some buckets."""
    for partition, bucket in buckets:
        is_before = partition == first[0] and bucket < first[1]
        is_behind = following is not None and partition == following[0] and bucket > following[1]
        # Between two entries of one partition there is no other partition.
        is_other = following is not None and first[0] == following[0] != partition
        if not (is_before or is_behind or is_other):
            return True
    return False
