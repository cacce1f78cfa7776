"""Race of several processes that commit to one table at the same time: acknowledged and lost rows.

Each process makes commits of one row each, with other keys than the other processes. The engines are Braid,
paimon-rust, pypaimon, and pypaimon with its Rust core. A row is lost if its commit was acknowledged and Braid's
reader does not find it.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.peers import race_worker
from benchmarks.peers.race_worker import TABLE
from braid.lake import Catalog

PEER_PYTHON: Final = Path(__file__).parents[2] / ".venv-pypaimon" / "bin" / "python"
ENGINES: Final = ("ours", "rust", "pypaimon", "pypaimon with rust")
PROCESSES: Final = 3
COMMITS: Final = 40
ROUNDS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Race:
    """One race of one engine.

    Attributes:
        engine: Its name.
        acknowledged: Commits that returned without an error.
        refused: Commits that raised one.
        lost: Rows of acknowledged commits that are not in the table.
        seconds: Of the slowest process.
    """

    engine: str
    acknowledged: int
    refused: int
    lost: int
    seconds: float


def run_all(
    engines: Sequence[str], *, processes: int, commits: int, rounds: int
) -> Iterator[dict[str, Any]]:
    """Run the race of each engine, in turn, print the results, and yield them.

    Args:
        engines: Some of `ENGINES`.
        processes: Processes at once.
        commits: Commits of each.
        rounds: How often each engine has its turn.
    """
    print(f"{processes} processes x {commits} commits of one row\n")
    print(f"{'engine':20} {'acknowledged':>12} {'refused':>8} {'lost':>6} {'commits/s':>10}")
    for _ in range(rounds):
        for engine in engines:
            race = run(engine, processes=processes, commits=commits)
            rate = race.acknowledged / race.seconds
            print(
                f"{engine:20} {race.acknowledged:12} {race.refused:8} {race.lost:6} {rate:10.1f}",
                flush=True,
            )
            yield asdict(race)


def run(engine: str, *, processes: int, commits: int) -> Race:
    """Run the race of one engine on a new table of ours."""
    with tempfile.TemporaryDirectory(prefix="braid-bench-") as folder:
        table = Catalog(folder).create_table(
            TABLE,
            columns=[("id", "BIGINT"), ("number", "BIGINT"), ("text", "STRING")],
            primary_key=["id"],
            options={"bucket": "1", "merge-engine": "partial-update"},
        )
        answers = _race(engine, folder, processes=processes, commits=commits)
        there = set(table.scan(columns=["id"]).to_arrow()["id"].to_pylist())
    acknowledged = {key for answer in answers for key in answer["keys"]}
    return Race(
        engine=engine,
        acknowledged=len(acknowledged),
        refused=sum(len(answer["refused"]) for answer in answers),
        lost=len(acknowledged - there),
        seconds=max(answer["seconds"] for answer in answers),
    )


def _race(engine: str, folder: str, *, processes: int, commits: int) -> list[dict[str, Any]]:
    python, environment = (sys.executable, dict(os.environ))
    if engine != "ours":
        python = str(PEER_PYTHON)
        # A variable that leads Python to this project's packages would lead it to the wrong pyarrow.
        environment.pop("PYTHONPATH", None)
    with ExitStack() as stack:
        running = []
        for number in range(processes):
            command = [
                python,
                "-m",
                race_worker.__name__,
                engine,
                folder,
                str(number),
                str(commits),
            ]
            running.append(
                stack.enter_context(
                    subprocess.Popen(
                        command,
                        env=environment,
                        cwd=Path(__file__).parents[2],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.DEVNULL,
                        encoding="utf-8",
                    )
                )
            )
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", f"{engine} does not start: make peer"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        return [json.loads(process.communicate()[0]) for process in running]
