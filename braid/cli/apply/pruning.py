"""The streams that `braid apply --prune` deletes: those that no file declares, all of them or those with some labels."""

from collections.abc import Sequence
from dataclasses import dataclass

from braid.cli.arguments import refuse
from braid.schemas import StreamSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruning:
    """Which streams are deleted if no file declares them.

    Attributes:
        labels: Names and values of labels that they have; the value None stands for any. Empty: all streams.
    """

    labels: Sequence[tuple[str, str | None]] = ()

    def includes(self, stream: StreamSpec) -> bool:
        """Return whether a stream has all the labels.

        >>> spec = StreamSpec.model_construct(labels={"team": "shop"})
        >>> Pruning(labels=[("team", None)]).includes(spec)
        True
        >>> Pruning(labels=[("team", "shop"), ("stage", None)]).includes(spec)
        False
        """
        return all(
            name in stream.labels and value in (None, stream.labels[name])
            for name, value in self.labels
        )


def requested_pruning(*, is_wanted: bool, labels: Sequence[str]) -> Pruning | None:
    """Return what the options `--prune` and `--label` ask for; None: nothing is deleted. Exit with one line if they do not fit."""
    if not is_wanted:
        if labels:
            refuse("--label", " ".join(labels), "expected together with --prune")
        return None
    return Pruning(labels=[_label(text) for text in labels])


def _label(text: str) -> tuple[str, str | None]:
    name, has_value, value = text.partition("=")
    if not name:
        refuse("--label", text, "expected name=value or name")
    return name, value if has_value else None
