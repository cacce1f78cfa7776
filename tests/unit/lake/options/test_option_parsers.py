import pytest

from braid.lake.options.option_parsers import DURATION, SIZE, parse_duration, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1024", 1024),
        ("8mb", 8 << 20),
        ("8 MB", 8 << 20),
        (" 128 m ", 128 << 20),
        ("2 kibibytes", 2048),
        ("3 gb", 3 << 30),
        ("1 tebibytes", 1 << 40),
        ("mb", None),
        ("1.5 mb", None),
        ("-1", None),
        ("", None),
        ("1" * 5_000, None),
        (f"1{' ' * 20_000}x1", None),
    ],
)
def test_sizes_are_read_in_the_forms_of_the_format(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("500", 500),
        ("1 h", 3_600_000),
        ("10s", 10_000),
        ("2 min", 120_000),
        ("3 d", 259_200_000),
        ("1500 us", 1),
        ("999999 ns", 0),
        ("1 month", None),
    ],
)
def test_durations_are_read_in_the_forms_of_the_format(text: str, milliseconds: int | None) -> None:
    assert parse_duration(text) == milliseconds


@pytest.mark.parametrize(
    ("size", "shown"),
    [(500, "500 b"), (64 << 10, "64 kb"), (128 << 20, "128 mb"), (1 << 40, "1024 gb")],
)
def test_sizes_are_shown_in_the_largest_unit_that_divides_them(size: int, shown: str) -> None:
    assert SIZE.show(size) == shown
    assert SIZE.parse(shown) == size


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(10, "10 ms"), (90_000, "90 s"), (3_600_000, "1 h"), (86_400_000, "1 d")],
)
def test_durations_are_shown_in_the_largest_unit_that_divides_them(
    milliseconds: int, shown: str
) -> None:
    assert DURATION.show(milliseconds) == shown
    assert DURATION.parse(shown) == milliseconds
