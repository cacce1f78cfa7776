"""Places of a request."""

from schemas.field_problems import field_path, json_pointer, problem_at, quoted_list


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
