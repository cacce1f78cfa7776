"""Values of every type survive JSON: what is read back has the same JSON form."""

import orjson
import pyarrow as pa
from hypothesis import given, strategies as st

from braid.formats.json_values import json_value
from braid.formats.parsed_json import parsed_json
from braid.lake import DataType, to_arrow_type
from braid.lake.errors import UnsupportedFeature
from braid.lake.merge.plain_values import plain_array
from braid.lake.read.lookup.python_rows import python_columns
from tests.support.typed_values import TYPES, values_of


@given(st.data())
def test_a_value_survives_json(data: st.DataObject) -> None:
    data_type: DataType = data.draw(TYPES)
    arrow_type = to_arrow_type(data_type)
    array = plain_array([data.draw(values_of(data_type))], arrow_type)
    try:
        [value] = python_columns(pa.record_batch({"v": array}))["v"]
    except UnsupportedFeature:
        return  # a time that Python cannot hold is not shown as JSON either
    text = orjson.dumps(json_value(value, data_type))

    parsed = pa.array([parsed_json(orjson.loads(text), data_type)], arrow_type)

    [again] = python_columns(pa.record_batch({"v": parsed}))["v"]
    assert orjson.dumps(json_value(again, data_type)) == text
