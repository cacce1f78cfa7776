"""Blocks of every codec round-trip, and damage is detected."""

import random

import pytest

from braid.lake.errors import UnsupportedFeature
from braid.lake.format.avro.codecs import AVRO_CODECS, DECOMPRESSION_ERRORS, compress, decompress

DATA = random.Random(1).randbytes(2_000) * 3


@pytest.mark.parametrize("codec", AVRO_CODECS)
@pytest.mark.parametrize("data", [DATA, b"", b"x"], ids=["much", "nothing", "a byte"])
def test_compressed_blocks_round_trip(codec: str, data: bytes) -> None:
    assert decompress(compress(data, codec), codec) == data


@pytest.mark.parametrize("codec", [codec for codec in AVRO_CODECS if codec != "null"])
def test_damage_raises_one_of_the_declared_errors(codec: str) -> None:
    packed = compress(DATA, codec)

    for damaged in (packed[: len(packed) // 2], b"\xff" * 30, packed[:9] + b"\0" * 20):
        with pytest.raises(DECOMPRESSION_ERRORS):
            decompress(damaged, codec)


def test_a_wrong_checksum_of_snappy_is_detected() -> None:
    packed = compress(DATA, "snappy")

    with pytest.raises(ValueError, match="wrong checksum"):
        decompress(packed[:-1] + bytes([packed[-1] ^ 1]), "snappy")


def test_levels_of_zstandard_differ() -> None:
    text = b"".join(str(k * k).encode() for k in range(20_000))

    sizes = [len(compress(text, "zstandard", level=level)) for level in (1, 19)]

    assert sizes[1] < sizes[0]


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(UnsupportedFeature, match="`lzo` is not supported, only null, deflate"):
        decompress(b"", "lzo")
