"""News of records put together, and sent to the driver."""

import orjson

from pipelines.new_fields.batch_schema_delta import BatchNews, NewsCollector, sum_news
from pipelines.new_fields.record_schema_delta import RecordNews
from pipelines.new_fields.value_shape import TEXT, join, shape_of

ONE, HALF = shape_of(1), shape_of(0.5)


def test_fields_are_joined_in_the_order_in_which_they_came() -> None:
    collector = NewsCollector(fields_max=None)
    collector.add(RecordNews(new={("b",): ONE}, wider={"w": ONE}))
    collector.add(RecordNews(new={("a", "b"): HALF, ("b",): HALF}, wider={"w": TEXT}))

    news = collector.news
    assert list(news.new.items()) == [(("b",), join(ONE, HALF)), (("a", "b"), HALF)]
    assert news.wider == {"w": TEXT}


def test_what_is_beyond_the_bound_waits() -> None:
    collector = NewsCollector(fields_max=1)
    for name in ("a", "b", "a"):
        collector.add(RecordNews(new={(name,): ONE}))

    assert collector.news.new == {("a",): ONE}


def test_a_task_tells_the_driver() -> None:
    news = BatchNews(
        new={("a", "b"): shape_of({"x": [1, {"y": "z"}]})}, wider={"w": shape_of([[]])}
    )

    assert BatchNews.from_json(orjson.loads(orjson.dumps(news.to_json()))) == news


def test_what_tasks_tell_is_summed() -> None:
    parts = [BatchNews(new={("a",): ONE}), BatchNews(), BatchNews(new={("a",): TEXT})]

    assert sum_news(parts) == BatchNews(new={("a",): TEXT})
    assert not sum_news([])
