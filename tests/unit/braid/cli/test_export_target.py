"""A folder that appears while an export writes is kept, empty or filled."""

from pathlib import Path

import pytest

from braid.cli.export.target import export_target
from braid.lake import InvalidRequest


@pytest.mark.parametrize("names", [[], ["theirs"]])
def test_a_folder_that_appears_meanwhile_is_kept(tmp_path: Path, names: list[str]) -> None:
    target = tmp_path / "parcels"

    def export() -> None:
        with export_target(target, is_folder=True, overwrite=False) as part:
            (part / "ours").write_text("x")
            target.mkdir()
            for name in names:
                (target / name).write_text("y")

    with pytest.raises(InvalidRequest, match="it exists already"):
        export()

    assert [path.name for path in target.iterdir()] == names
    assert list(tmp_path.iterdir()) == [target]


def test_a_folder_appears_with_all_of_its_files(tmp_path: Path) -> None:
    target = tmp_path / "parcels"

    with export_target(target, is_folder=True, overwrite=False) as part:
        (part / "ours").write_text("x")

    assert (target / "ours").read_text() == "x"
    assert list(tmp_path.iterdir()) == [target]
