import pyarrow as pa
import pytest

from braid.lake.errors import SchemaMismatch
from braid.lake.format.row_words import header_word_count, row_blocks
from braid.lake.format.type_codec import parse_type


@pytest.mark.parametrize(("arity", "words"), [(0, 1), (56, 1), (57, 2), (120, 2), (121, 3)])
def test_the_header_has_a_bit_per_field_after_the_kind(arity: int, words: int) -> None:
    assert header_word_count(arity) == words


def test_blocks_are_bounded_and_in_order() -> None:
    blocks = list(row_blocks([pa.array(range(10))], [parse_type("BIGINT")], block_rows=4))

    assert [block.row_count for block in blocks] == [4, 4, 2]
    slots = [block.fixed[1].low for block in blocks]
    assert [number for slot in slots if slot is not None for number in slot] == list(range(10))


def test_a_header_without_nulls_is_zero_in_every_row() -> None:
    (block,) = row_blocks([pa.array([1, 2])], [parse_type("BIGINT")], block_rows=4)

    assert block.fixed[0].low is None
    assert block.word_counts() == 2


def test_words_are_counted_per_row() -> None:
    column = pa.array(["", "1234567", "12345678", None, "x" * 17])

    (block,) = row_blocks([column], [parse_type("STRING")], block_rows=8)

    counts = block.word_counts()
    assert not isinstance(counts, int)
    assert counts.tolist() == [2, 2, 3, 2, 5]


def test_a_column_of_another_type_is_refused() -> None:
    with pytest.raises(SchemaMismatch, match="`string` does not fit `INT`"):
        list(row_blocks([pa.array(["x"])], [parse_type("INT")], block_rows=8))
