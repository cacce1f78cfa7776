"""Columns of VARIANT values and of JSON texts."""

import pyarrow as pa
import pytest

from braid.lake import VARIANT_TYPE, NotVariant, json_of_variants, variants_of_json


def test_columns_keep_nulls_apart_from_the_json_null() -> None:
    texts = pa.array(["[1]", None, "null"])

    values = variants_of_json(texts)

    assert values.type == VARIANT_TYPE
    assert values.is_null().to_pylist() == [False, True, False]
    assert json_of_variants(values).equals(texts)
    assert json_of_variants(pa.chunked_array([values[1:], values[:1]])).to_pylist() == [
        None,
        "null",
        "[1]",
    ]


def test_the_text_that_is_no_json_is_named() -> None:
    with pytest.raises(NotVariant, match="text 1: not JSON"):
        variants_of_json(pa.array(["{}", "{"]))
