"""Schema deltas of records are merged, and sent to the driver."""

import orjson

from braid.records.new_fields.schema_delta import SchemaDelta, SchemaDeltaCollector, merge_deltas
from braid.records.new_fields.value_shape import TEXT, join, shape_of

ONE, HALF = shape_of(1), shape_of(0.5)


def test_fields_are_joined_in_the_order_in_which_they_came() -> None:
    collector = SchemaDeltaCollector(fields_max=None)
    collector.add(SchemaDelta(new={("b",): ONE}, wider={"w": ONE}))
    collector.add(SchemaDelta(new={("a", "b"): HALF, ("b",): HALF}, wider={"w": TEXT}))

    delta = collector.delta
    assert list(delta.new.items()) == [(("b",), join(ONE, HALF)), (("a", "b"), HALF)]
    assert delta.wider == {"w": TEXT}


def test_fields_beyond_the_bound_wait() -> None:
    collector = SchemaDeltaCollector(fields_max=1)
    for name in ("a", "b", "a"):
        collector.add(SchemaDelta(new={(name,): ONE}))

    assert collector.delta.new == {("a",): ONE}


def test_a_delta_survives_its_way_to_the_driver() -> None:
    delta = SchemaDelta(
        new={("a", "b"): shape_of({"x": [1, {"y": "z"}]})}, wider={"w": shape_of([[]])}
    )

    assert SchemaDelta.from_json(orjson.loads(orjson.dumps(delta.to_json()))) == delta


def test_deltas_of_tasks_are_merged() -> None:
    parts = [SchemaDelta(new={("a",): ONE}), SchemaDelta(), SchemaDelta(new={("a",): TEXT})]

    assert merge_deltas(parts) == SchemaDelta(new={("a",): TEXT})
    assert not merge_deltas([])
