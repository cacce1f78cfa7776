"""Plan of a read: the bytes of the files that its conditions leave."""

from pathlib import Path

import pyarrow as pa

from braid.lake import Catalog
from braid.pipelines.batch_source.read_options import read_options
from braid.pipelines.batch_source.read_plan import bytes_to_read


def test_the_bytes_of_a_read_are_those_of_the_files_that_are_left(tmp_path: Path) -> None:
    table = Catalog(str(tmp_path)).create_table(
        "db.t",
        columns=[("day", "INT"), ("k", "INT")],
        primary_key=["day", "k"],
        partition_keys=["day"],
        options={"bucket": "1"},
    )
    assert bytes_to_read(read_options({"path": table.path})) == 0
    for day in (1, 2):
        days = pa.array([day] * 100 * day, pa.int32())
        table.write_and_commit(pa.table({"day": days, "k": pa.array(range(len(days)), pa.int32())}))

    def on_disk(folder: str) -> int:
        return sum(path.stat().st_size for path in Path(table.path).glob(f"{folder}/bucket-0/*"))

    read = {"path": table.path}
    assert bytes_to_read(read_options(read)) == on_disk("day=*") > 0
    assert bytes_to_read(read_options({**read, "where": "day = 2"})) == on_disk("day=2")
    assert bytes_to_read(read_options({**read, "snapshot-id": "1"})) == on_disk("day=1")
