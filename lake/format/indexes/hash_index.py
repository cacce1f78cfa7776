"""Hash index files: the hashes of all keys in one dynamic bucket.

```
i32 BE | i32 BE | …      the distinct hashes, in any order, without a header
```

The hash of a key is that of the bucket function, over the trimmed primary key.

Source: table-format 15.
"""

import numpy as np

from braid.lake.errors import CorruptData
from braid.lake.format.bucket import Int32Array

_HASH_BYTES = 4


def encode_hash_index(hashes: Int32Array) -> bytes:
    """Return the bytes of an index file with the hashes in the given order.

    Example:
        >>> encode_hash_index(np.array([1465514398], dtype=np.int32)).hex()
        '5759f99e'
    """
    return hashes.astype(">i4").tobytes()


def decode_hash_index(data: bytes) -> Int32Array:
    """Return the hashes of an index file, in file order.

    Raises:
        CorruptData: The bytes are not a whole number of hashes.
    """
    if len(data) % _HASH_BYTES:
        message = f"a hash index of {len(data)} bytes is not a sequence of 4-byte hashes"
        raise CorruptData(message)
    return np.frombuffer(data, dtype=">i4").astype(np.int32)
