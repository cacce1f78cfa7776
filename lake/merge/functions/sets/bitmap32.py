"""The union of two bitmaps of 32-bit numbers, in the portable RoaringBitmap format.

```
cookie            uint32: 12346, then uint32 the number of containers;
                  or uint16 12347, uint16 the number - 1, one bit per container: is it RUN
per container     uint16 key, uint16 cardinality - 1
per container     uint32 offset of its payload; not in bitmaps with RUN and fewer than 4 containers
payloads          see `bitmap_containers`
```

Source: RoaringBitmap format specification; merge-semantics 4 (`rbm32`).
"""

import struct

from braid.lake.merge.functions.sets.bitmap_containers import (
    ARRAY_MAX,
    BITMAP_BYTES,
    COOKIE_WITH_RUNS,
    COOKIE_WITHOUT_RUNS,
    Container,
    Kind,
    optimised,
    read_bitmap,
    united,
)

_OFFSETS_MIN = 4


def united_32(accumulated: bytes, value: bytes) -> bytes:
    """Return the union of two bitmaps, byte for byte as the reference writes it.

    Raises:
        ValueError: One of the two is malformed.
    """
    if not _has_runs(accumulated) and not _has_runs(value):
        # Without runs in the sources the library chooses the same kinds as the reference.
        union = read_bitmap(accumulated) | read_bitmap(value)
        union.run_optimize()
        return bytes(union.serialize())
    one, other = _containers(accumulated), _containers(value)
    both, either = one.keys() & other.keys(), one | other
    return _written(
        {
            key: united(one[key], other[key]) if key in both else optimised(either[key])
            for key in sorted(one.keys() | other.keys())
        }
    )


def _has_runs(data: bytes) -> bool:
    return int.from_bytes(data[:2], "little") == COOKIE_WITH_RUNS


def _containers(data: bytes) -> dict[int, Container]:
    read_bitmap(data)  # The library checks lengths and order.
    if _has_runs(data):
        count = struct.unpack_from("<H", data, 2)[0] + 1
        flags_size = (count + 7) // 8
        flags = int.from_bytes(data[4 : 4 + flags_size], "little")
        offset = 4 + flags_size
        has_offsets = count >= _OFFSETS_MIN
    else:
        count = struct.unpack_from("<I", data, 4)[0]
        flags, offset, has_offsets = 0, 8, True
    head = struct.unpack_from(f"<{2 * count}H", data, offset)
    offset += 4 * count + (4 * count if has_offsets else 0)
    found = {}
    for index in range(count):
        key, cardinality = head[2 * index], head[2 * index + 1] + 1
        kind, size = _kind_and_size(data, offset, cardinality, bool(flags >> index & 1))
        found[key] = Container(kind, cardinality, data[offset : offset + size])
        offset += size
    return found


def _kind_and_size(data: bytes, offset: int, cardinality: int, is_run: bool) -> tuple[Kind, int]:
    if is_run:
        return Kind.RUN, 2 + 4 * struct.unpack_from("<H", data, offset)[0]
    if cardinality > ARRAY_MAX:
        return Kind.BITMAP, BITMAP_BYTES
    return Kind.ARRAY, 2 * cardinality


def _written(containers: dict[int, Container]) -> bytes:
    """Return the bytes of containers that are in the order of their keys."""
    count = len(containers)
    flags = sum(
        1 << index for index, each in enumerate(containers.values()) if each.kind is Kind.RUN
    )
    if flags:
        head = struct.pack("<HH", COOKIE_WITH_RUNS, count - 1)
        head += flags.to_bytes((count + 7) // 8, "little")
    else:
        head = struct.pack("<II", COOKIE_WITHOUT_RUNS, count)
    for key, container in containers.items():
        head += struct.pack("<HH", key, container.cardinality - 1)
    if not flags or count >= _OFFSETS_MIN:
        offset = len(head) + 4 * count
        for container in containers.values():
            head += struct.pack("<I", offset)
            offset += len(container.payload)
    return head + b"".join(container.payload for container in containers.values())
