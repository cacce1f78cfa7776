"""Files at an address: which there are, in which order, and when they are no longer the same."""

import os
from pathlib import Path

import pytest

from braid.backfill.files.source_files import FileFormat, find_files
from braid.lake import InvalidRequest


def test_a_folder_has_the_files_below_it_in_the_order_of_paths(tmp_path: Path) -> None:
    for name in ("day=2/b.parquet", "day=1/c.parquet", "a.parquet", "_SUCCESS", ".x/y.parquet"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"")

    found = find_files(str(tmp_path))

    names = [str(Path(file.path).relative_to(tmp_path)) for file in found.files]
    assert names == ["a.parquet", "day=1/c.parquet", "day=2/b.parquet"]
    assert found.format is FileFormat.PARQUET


@pytest.mark.parametrize(
    ("address", "names"),
    [("a.csv", ["a.csv"]), ("*.csv.gz", ["b.csv.gz", "c.csv.gz"]), ("[a].csv", [])],
)
def test_a_file_and_a_pattern_name_files_of_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, names: list[str]
) -> None:
    for name in ("a.csv", "b.csv.gz", "c.csv.gz"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    if not names:
        with pytest.raises(InvalidRequest, match="nothing to backfill"):
            find_files(address)
        return

    assert [file.name for file in find_files(address).files] == names


def test_files_of_several_formats_are_refused_unless_it_is_declared(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    (tmp_path / "b.json").write_bytes(b"")

    with pytest.raises(InvalidRequest) as caught:
        find_files(str(tmp_path))

    assert caught.value.problems[0].hint == "give it: --format parquet|csv|json|avro"
    assert find_files(str(tmp_path), declared=FileFormat.CSV).format is FileFormat.CSV


def test_the_digest_changes_with_a_file_and_with_the_options(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_bytes(b"1")
    before = find_files(str(tmp_path)).digest("x")

    assert find_files(str(tmp_path)).digest("x") == before
    assert find_files(str(tmp_path)).digest("y") != before
    os.utime(file, ns=(1, 2_000_000))
    assert find_files(str(tmp_path)).digest("x") != before
