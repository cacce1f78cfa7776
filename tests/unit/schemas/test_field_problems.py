"""Locations in a request, and problems of its fields."""

from braid.schemas.field_problems import field_path, json_pointer, problem_at, quoted_list


def test_a_pointer_escapes_what_separates() -> None:
    assert json_pointer(("options", "a/b~c", 0)) == "/options/a~1b~0c/0"
    assert json_pointer(()) == ""


def test_a_field_reads_as_a_person_writes_it() -> None:
    assert field_path(("columns", 2, "type")) == "columns[2].type"


def test_a_missing_value_stays_missing() -> None:
    problem = problem_at("buckets", message="missing")

    assert (problem.pointer, problem.field, problem.value) == ("/buckets", "buckets", None)


def test_no_names_are_called_none() -> None:
    assert quoted_list(["a", "b"]) == "`a`, `b`"
    assert quoted_list([]) == "none"


def test_the_path_of_a_problem_is_no_part_of_its_json() -> None:
    problem = problem_at("columns", 2, "type", message="unknown type")

    assert problem.path == ("columns", 2, "type")
    assert "path" not in problem.model_dump(mode="json")
    assert "path" not in type(problem).model_json_schema()["properties"]
