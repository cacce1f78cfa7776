"""Places of a request."""

from schemas.findings import field_at, found_at, listed, pointer_to


def test_a_pointer_escapes_what_separates() -> None:
    assert pointer_to(("options", "a/b~c", 0)) == "/options/a~1b~0c/0"
    assert pointer_to(()) == ""


def test_a_field_reads_as_a_person_writes_it() -> None:
    assert field_at(("columns", 2, "type")) == "columns[2].type"


def test_a_missing_value_stays_missing() -> None:
    problem = found_at("buckets", message="missing")

    assert (problem.pointer, problem.field, problem.value) == ("/buckets", "buckets", None)


def test_no_names_are_called_none() -> None:
    assert listed(["a", "b"]) == "`a`, `b`"
    assert listed([]) == "none"
