"""Refusal to change a branch: this version only reads branches, which `braid.lake.snapshots.tag_store` lists."""

from braid.lake.errors import Problem, UnsupportedFeature
from braid.lake.files.paths import TablePaths


def refuse_branch(paths: TablePaths) -> None:
    """Refuse to change a branch: its data files are shared with the main branch.

    Raises:
        UnsupportedFeature: These are the paths of a branch.
    """
    if paths.branch:
        problem = Problem(
            field="branch",
            value=paths.branch,
            message="this version can read branches, but can change only the main one",
        )
        message = f"branch `{paths.branch}` of table {paths.identifier} cannot be changed"
        raise UnsupportedFeature(message, problems=[problem])
