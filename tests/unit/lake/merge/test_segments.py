import numpy as np
import pyarrow as pa
import pytest

from braid.lake.format.system_columns import SEQUENCE_NUMBER, VALUE_KIND
from braid.lake.merge.order.key_order import key_codes
from braid.lake.merge.order.merge_order import find_segments
from braid.lake.merge.segments import LAYERS_MAX, Segments
from braid.lake.merge.spec import MergeSpec
from braid.lake.options.table_options import MergeEngine
from tests.unit.lake.merge.given_records import given_records

SPEC = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",))


def segments_of(*rows: str, spec: MergeSpec = SPEC, newest_first: bool = False) -> Segments:
    table = given_records("k s", *rows)
    if newest_first:
        numbers = table.column(0).take(np.arange(len(table))[::-1])
        table = table.set_column(0, table.field(0), numbers)
    return find_segments(table, spec, key_codes([table.column("k")]))


def test_rows_are_cut_where_the_key_changes() -> None:
    segments = segments_of("+I 2 0", "+I 1 0", "+I 2 0", "+I 3 0")

    assert segments.order.tolist() == [1, 0, 2, 3]
    assert segments.starts.tolist() == [0, 1, 3]
    assert segments.lasts.tolist() == [0, 2, 3]
    assert segments.last_rows.tolist() == [1, 2, 3]
    assert segments.is_single.tolist() == [True, False, True]
    assert segments.segment_of.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("top", [0, 2**62], ids=["packed", "wide"])
@pytest.mark.parametrize("runs", [1, 3, 400])
def test_rows_of_equal_keys_keep_their_order_whatever_the_runs(runs: int, top: int) -> None:
    random = np.random.default_rng(runs)
    keys = np.concatenate(
        [np.sort(part) for part in np.array_split(random.permuted(np.arange(1200) // 3), runs)]
    )
    rows = [f"+I {key} 0" for key in keys]
    table = given_records("k s", *rows)

    segments = find_segments(table, SPEC, keys.astype(np.uint64) + np.uint64(top))

    assert segments.order.tolist() == sorted(range(1200), key=lambda row: (keys[row], row))
    assert segments.count == 400


def test_versions_in_the_wrong_order_are_put_right() -> None:
    rows = ("+I 1 0", "+I 2 0", "+I 1 0", "+I 3 0")

    assert segments_of(*rows, newest_first=True).order.tolist() == [2, 0, 1, 3]


def test_sequence_fields_decide_before_sequence_numbers() -> None:
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), sequence_fields=("s",))
    rows = ("+I 1 5", "+I 1 _", "+I 1 4", "+I 1 5")

    assert segments_of(*rows, spec=spec).order.tolist() == [1, 2, 0, 3]
    assert segments_of(*rows, spec=spec, newest_first=True).order.tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("is_newest_first", [False, True])
@pytest.mark.parametrize("scale", [1, 2**55], ids=["packed", "wide"])
def test_versions_of_equal_sequence_fields_follow_their_numbers(
    scale: int, is_newest_first: bool
) -> None:
    random = np.random.default_rng(7)
    keys, fields = random.integers(0, 300, 3000), random.integers(-3, 4, 3000) * scale
    numbers = np.arange(3000)[:: -1 if is_newest_first else 1]
    kinds = np.zeros(3000, dtype=np.int8)
    table = pa.table({SEQUENCE_NUMBER: numbers, VALUE_KIND: kinds, "k": keys, "s": fields})
    spec = MergeSpec(engine=MergeEngine.DEDUPLICATE, key_columns=("k",), sequence_fields=("s",))

    order = find_segments(table, spec, key_codes([table.column("k")])).order.tolist()

    assert order == sorted(range(3000), key=lambda row: (keys[row], fields[row], numbers[row]))


def test_of_equal_sequence_numbers_a_retract_is_older_than_an_add() -> None:
    table = given_records("k s", "+I 1 0", "-D 1 0", "+U 1 0", "-U 1 0", "+I 2 0", "+I 2 0")
    equal = table.set_column(0, table.field(0), pa.array([5] * 6, pa.int64()))

    order = find_segments(equal, SPEC, key_codes([equal.column("k")])).order.tolist()

    assert order == [1, 3, 0, 2, 4, 5]


def test_layers_count_back_from_the_last_row_longest_segments_first() -> None:
    segments = segments_of("+I 1 0", "+I 2 0", "+I 2 0", "+I 2 0", "+I 3 0", "+I 3 0")

    assert segments.by_length.tolist() == [1, 2, 0]
    assert [layer.tolist() for layer in segments.layers] == [[3, 5, 0], [2, 4], [1]]
    assert segments.long_count == 0
    assert segments.in_key_order(segments.layers[0]).tolist() == segments.last_rows.tolist()


def test_segments_longer_than_all_layers_come_first_in_key_order() -> None:
    longest = ["+I 3 0"] * (LAYERS_MAX + 5)
    long = ["+I 2 0"] * (LAYERS_MAX + 1)
    segments = segments_of("+I 1 0", *longest, *long, *["+I 4 0"] * LAYERS_MAX)

    assert len(segments.layers) == LAYERS_MAX
    assert segments.long_count == 2
    assert segments.by_length.tolist() == [1, 2, 3, 0]
