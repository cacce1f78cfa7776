"""Tables of a modelled database, and their rows.

A row is a tuple of values in the order of the columns; its key is not among them. A large value is stored apart from
its row (TOAST), so that the log of a later change does not have it.
"""

import random
from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = int | str | None
Row: TypeAlias = tuple[Value, ...]

_LARGE: Final = "large: "


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTable:
    """A table of the database, whose key is the column `id`.

    Attributes:
        name: The table's name.
        numbers: Columns of whole numbers.
        texts: Columns of texts that can be large.
        has_full_identity: Whether the log has the whole old row of each change (REPLICA IDENTITY FULL), and so
            every value of the new one.
    """

    name: str
    numbers: tuple[str, ...]
    texts: tuple[str, ...]
    has_full_identity: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns but the key, in the order of a row's values."""
        return self.numbers + self.texts

    def random_row(self, chance: random.Random) -> Row:
        """Return the values of a new row."""
        numbers = [_number(chance) for _ in self.numbers]
        return (*numbers, *(_text(chance) for _ in self.texts))

    def changed(self, row: Row, chance: random.Random) -> Row:
        """Return a row with some new values: numbers usually, texts now and then."""
        numbers = [
            _number(chance) if chance.random() < 0.7 else row[n] for n in range(len(self.numbers))
        ]
        rest = row[len(self.numbers) :]
        return (*numbers, *(_text(chance) if chance.random() < 0.25 else old for old in rest))

    def unavailable(self, old: Row, new: Row) -> frozenset[int]:
        """Return the places of the values that the log of a change does not have: large, and not changed."""
        if self.has_full_identity:
            return frozenset()
        return frozenset(
            place
            for place in range(len(self.numbers), len(new))
            if new[place] is old[place] and is_large(new[place])
        )


def is_large(value: Value) -> bool:
    """Return whether a value is stored apart from its row."""
    return isinstance(value, str) and value.startswith(_LARGE)


def _number(chance: random.Random) -> int | None:
    return None if chance.random() < 0.1 else chance.randrange(1_000_000)


def _text(chance: random.Random) -> str | None:
    number = chance.randrange(1 << 30)
    match number % 8:
        case 0:
            return None
        case 1 | 2:
            return f"text {number}"
        case _:
            return f"{_LARGE}{number}"
