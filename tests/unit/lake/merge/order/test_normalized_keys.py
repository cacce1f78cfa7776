import numpy as np
import pyarrow as pa

from braid.lake.format.arrays import combined_array, validity
from braid.lake.merge.order.key_codes import concatenated, narrow
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.order.normalized_keys import normalized_keys


def bits_of(array: pa.Array) -> list[int]:
    return [word.bits for word in normalized_keys(array)]


def test_a_word_starts_at_the_smallest_value() -> None:
    (word,) = normalized_keys(pa.array([1_000_003, 1_000_000, 1_000_002]))

    assert word.values.tolist() == [3, 0, 2]
    assert word.bits == 2


def test_equal_values_need_no_word() -> None:
    assert bits_of(pa.array([7, 7])) == []
    assert bits_of(pa.array([None, None], pa.int64())) == []
    assert bits_of(pa.array([], pa.int64())) == []


def test_the_widest_range_does_not_overflow() -> None:
    (word,) = normalized_keys(pa.array([-(2**63), 2**63 - 1, 0]))

    assert word.values.tolist() == [0, 2**64 - 1, 2**63]
    assert word.bits == 64


def test_nulls_add_one_bit_before_the_values() -> None:
    nulls, values = normalized_keys(pa.array([5, None, 4]))

    assert (nulls.values.tolist(), nulls.bits) == ([1, 0, 1], 1)
    assert values.values.tolist() == [1, 0, 0]


def test_short_text_is_one_narrow_word() -> None:
    (word,) = normalized_keys(pa.array(["DL", "AA", "AB"]))

    assert word.values.tolist() == [(ord("D") - ord("A")) * 256 + ord("L") - ord("A"), 0, 1]


def test_a_common_prefix_costs_nothing() -> None:
    assert bits_of(pa.array(["customer-1", "customer-2", "customer-3"])) == [2]


def test_texts_with_zero_bytes_differ_by_length() -> None:
    first, second, third = ("a", "a\0", "a\0\0")
    words = normalized_keys(pa.array([third, first, second]))

    assert words[-1].values.tolist() == [2, 0, 1]


def test_long_text_is_ranked() -> None:
    (word,) = normalized_keys(pa.array(["x" * 100 + "b", "x" * 100 + "a", "x" * 100 + "b"]))

    assert word.values.tolist() == [1, 0, 1]


def test_neighbours_share_a_word_while_it_holds_them() -> None:
    values = np.array([0, 1], dtype=np.uint64)
    words = [
        word for high in (2**40, 2**20, 2**10) if (word := narrow(values * np.uint64(high - 1)))
    ]

    assert [word.bits for word in concatenated(words)] == [60, 10]


def test_slices_are_read_from_their_offset() -> None:
    for kind in (pa.int32(), pa.string(), pa.decimal128(5, 0)):
        array = pa.array([9, 1, None, 3], pa.int32()).cast(pa.string()).cast(kind)
        sliced, copied = array.slice(1), pa.concat_arrays([array.slice(1)])
        assert [w.values.tolist() for w in normalized_keys(sliced)] == [
            w.values.tolist() for w in normalized_keys(copied)
        ]


def test_validity_follows_slices_and_arrays_without_a_bitmap() -> None:
    assert validity(pa.array([1, None, 3]).slice(1)).tolist() == [False, True]
    assert validity(pa.array([1, 2])).tolist() == [True, True]
    assert validity(pa.nulls(2)).tolist() == [False, False]


def test_one_chunk_is_not_copied() -> None:
    array = pa.array([1])

    assert combined_array(pa.chunked_array([array])) is not None
    assert combined_array(array) is array
    assert combined_array(pa.chunked_array([array, array])).to_pylist() == [1, 1]


def test_an_array_has_a_word_for_each_position() -> None:
    first, second = normalized_keys(pa.array([[2], [1, 1], None, [1, 1]]))[1:]

    assert first.values.tolist() == [1, 0, 0, 0]
    assert second.values.tolist() == [0, 1, 0, 1]


def test_long_arrays_are_ranked() -> None:
    long = [1] * 40

    (word,) = normalized_keys(pa.array([[2], [*long, 2], long, [*long, 2]]))

    assert word.values.tolist() == [2, 1, 0, 1]


def test_elements_of_64_bits_leave_room_for_the_end() -> None:
    ends = pa.array([[2**63 - 1], [-(2**63)], [], [2**63 - 1, 0]])

    first, second = normalized_keys(ends)

    assert first.values.tolist() == [3, 1, 0, 3]
    assert second.values.tolist() == [0, 0, 0, 2]


def test_of_maps_the_shorter_is_smaller_then_keys_and_values_decide() -> None:
    maps = [[(2, 0)], [(1, 1), (1, 1)], [(1, 9)], [], [(1, None)]]

    codes = key_codes([pa.array(maps, pa.map_(pa.int32(), pa.int32()))]).tolist()

    assert [sorted(codes).index(code) for code in codes] == [3, 4, 2, 0, 1]
