"""The disks of folders have their free space, and what has no disk is left out."""

from pathlib import Path

from braid.telemetry.disk_metrics import DiskMetrics


def test_folders_on_disks_have_their_free_space_and_size(tmp_path: Path) -> None:
    metrics = DiskMetrics(
        {
            "warehouse": str(tmp_path),
            "copies": str(tmp_path / "missing"),
            "other": "s3://bucket/folder",
        }
    )

    free, size = metrics.collect()

    assert [(one.name, one.labels["folder"]) for one in free.samples + size.samples] == [
        ("braid_disk_free_bytes", "warehouse"),
        ("braid_disk_size_bytes", "warehouse"),
    ]
    assert 0 <= free.samples[0].value <= size.samples[0].value
