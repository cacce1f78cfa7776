"""The aggregate function listagg, of text.

A value is *blank* when it is null, empty, or consists of white space as Java defines it: including U+3000, but not
the no-break spaces. Blank values add nothing; a blank text may stay only if the key has no other text.

Definition and declaration; its vectorised reductions are in `reductions.text_reduction`.

Source: merge-semantics 4.1.
"""

from collections.abc import Iterator

import pyarrow as pa

from braid.lake.errors import Problem
from braid.lake.format.data_types import LENGTH_MAX, DataField, DataType, TypeRoot
from braid.lake.merge.aggregate_function import (
    AggregateFunction,
    FunctionDeclaration,
    FunctionOption,
    Reduced,
    Reduction,
)
from braid.lake.merge.column_function import ColumnFunction
from braid.lake.merge.compatibility import Compatibility
from braid.lake.merge.functions.reductions.text_reduction import joined_texts, single_texts
from braid.lake.merge.functions.support.function_errors import refused_retract
from braid.lake.merge.functions.support.option_values import flag, flag_problems
from braid.lake.merge.steps import Step, Steps

LISTAGG = "listagg"
DELIMITER = "list-agg-delimiter"
DISTINCT = "distinct"
DELIMITER_DEFAULT = ","

WHITE_SPACE = "".join(
    map(
        chr,
        [
            *range(0x09, 0x0E),
            *range(0x1C, 0x21),
            0x1680,
            *range(0x2000, 0x2007),
            *range(0x2008, 0x200B),
            0x2028,
            0x2029,
            0x205F,
            0x3000,
        ],
    )
)
"""The characters that Java's `Character.isWhitespace` accepts."""


class ListAgg:
    """Joins texts by a delimiter, older values first.

    Args:
        function: The column's function, for its name and options.
        _data_type: STRING, always.
    """

    def __init__(self, function: ColumnFunction, _data_type: pa.DataType) -> None:
        self._column = function.column
        self._delimiter = function.option(DELIMITER, DELIMITER_DEFAULT)
        self._distinct = flag(function, DISTINCT)
        # The text returned last, and its tokens: splitting it for every record of a key would be
        # quadratic.
        self._made: str | None = None
        self._made_of: set[str] = set()

    def reset(self) -> None:
        """Begin the next key."""
        self._made, self._made_of = None, set()

    def aggregate(self, accumulated: object, value: object) -> object:
        """Return the text with the value appended; with `distinct`, only its new tokens."""
        if _is_blank(value):
            return accumulated
        if _is_blank(accumulated):
            return value
        assert isinstance(accumulated, str)
        assert isinstance(value, str)
        if not self._distinct:
            return self._delimiter.join([accumulated, value])
        return self._with_new_tokens(accumulated, value)

    def aggregate_late(self, accumulated: object, value: object) -> object:
        """Return the text with the value before it."""
        return self.aggregate(value, accumulated)

    def retract(self, _accumulated: object, _value: object) -> object:
        """Refuse."""
        raise refused_retract(self._column, LISTAGG)

    def _with_new_tokens(self, accumulated: str, value: str) -> str:
        seen = self._made_of
        if accumulated is not self._made:
            seen = set(self._tokens(accumulated))
        # A dictionary keeps the first of equal tokens.
        tokens = dict.fromkeys(self._tokens(value))
        new = [token for token in tokens if token not in seen and not _is_blank(token)]
        made = self._delimiter.join([accumulated, *new])
        if len(self._delimiter) == 1:
            # A longer delimiter can also occur across the seam of two tokens.
            seen.update(new)
            self._made, self._made_of = made, seen
        return made

    def _tokens(self, text: str) -> list[str]:
        return text.split(self._delimiter or " ")


def _is_blank(value: object) -> bool:
    assert value is None or isinstance(value, str)
    return not value or not value.strip(WHITE_SPACE)


def _accepts(data_type: DataType) -> bool:
    return data_type.root is TypeRoot.VARCHAR and data_type.length == LENGTH_MAX


def _make(function: ColumnFunction, data_type: pa.DataType) -> AggregateFunction:
    return ListAgg(function, data_type)


def _reduction(function: ColumnFunction, _data_type: pa.DataType) -> Reduction:
    delimiter = function.option(DELIMITER, DELIMITER_DEFAULT)

    def joined(steps: Steps, column: pa.Array) -> Reduced:
        return joined_texts(steps, column, delimiter=delimiter, white_space=WHITE_SPACE)

    def single(steps: Steps, column: pa.Array) -> Reduced:
        return single_texts(steps, column, white_space=WHITE_SPACE)

    return Reduction(
        reduce=single if flag(function, DISTINCT) else joined,
        handles=frozenset({Step.ADD, Step.LATE}),
        keeps_single=False,  # A single blank text would become null.
    )


def _problems(_field: DataField, function: ColumnFunction) -> Iterator[Problem]:
    yield from flag_problems(function, DISTINCT)


DECLARATIONS: tuple[FunctionDeclaration, ...] = (
    FunctionDeclaration(
        name=LISTAGG,
        summary="Texts joined by a delimiter; with `distinct`, each token once.",
        accepts=_accepts,
        accepted="STRING",
        null_rule="Null, empty and blank texts add nothing.",
        late_rule="An older text is put before the accumulated one.",
        retract_rule=None,
        options=(
            FunctionOption(
                key=DELIMITER,
                type="text",
                default=DELIMITER_DEFAULT,
                meaning="The text between two texts, which also divides a text into tokens.",
            ),
            FunctionOption(
                key=DISTINCT,
                type="boolean",
                default="false",
                meaning="Each token occurs once.",
            ),
        ),
        anomalies=(
            "With `distinct`, an older text is kept as it is, and tokens of newer texts that it "
            "contains are dropped. Write one token per record.",
            "With `distinct` and an empty delimiter, tokens are divided at blanks and joined "
            "without blanks. Declare a delimiter.",
            "A single blank text is kept; it disappears with the next text. Write null instead.",
        ),
        differences=(
            Compatibility(
                subject="blank texts, `distinct`",
                verdict="same",
                why="As in Paimon 2.0; 1.4 ignores empty texts but not blank ones, and 1.3 ignores "
                "neither and has no `distinct`.",
            ),
        ),
        make=_make,
        reduction=_reduction,
        problems=_problems,
    ),
)
