"""The allocator is set up unless the environment does it."""

import platform

import pytest

from braid.service.http.process_memory import bound_memory, glibc_mallopt

ARENA_MAX, MMAP_THRESHOLD, TRIM_THRESHOLD = -8, -3, -1


def numbers_set(environ: dict[str, str]) -> set[int]:
    found: set[int] = set()

    def mallopt(number: int, value: int) -> int:
        assert value > 0
        found.add(number)
        return 1

    bound_memory(environ, mallopt)
    return found


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, {ARENA_MAX, MMAP_THRESHOLD, TRIM_THRESHOLD}),
        ({"MALLOC_ARENA_MAX": "8"}, {MMAP_THRESHOLD, TRIM_THRESHOLD}),
        ({"GLIBC_TUNABLES": "glibc.malloc.arena_max=8"}, set()),
        ({"GLIBC_TUNABLES": "glibc.rtld.nns=2"}, {ARENA_MAX, MMAP_THRESHOLD, TRIM_THRESHOLD}),
    ],
    ids=str,
)
def test_what_operators_set_stays(environ: dict[str, str], expected: set[int]) -> None:
    assert numbers_set(environ) == expected


def test_an_allocator_without_settings_is_left_alone() -> None:
    bound_memory({}, None)


def test_the_settings_are_those_of_this_c_library() -> None:
    if platform.libc_ver()[0] != "glibc":
        assert glibc_mallopt() is None
        return
    mallopt = glibc_mallopt()
    assert mallopt is not None
    assert mallopt(ARENA_MAX, 0) == 1  # 0: as many as by itself
