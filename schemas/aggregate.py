"""The aggregate function of a column and its options, as the declaration of a table gives them."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from braid.schemas.contract import Contract, PositiveInt, StrictBool

OPTION_OF_FIELD: Final[Mapping[str, str]] = {
    "ignore_retract": "ignore-retract",
    "distinct": "distinct",
    "delimiter": "list-agg-delimiter",
    "nested_key": "nested-key",
    "nested_key_null_strategy": "nested-key-null-strategy",
    "nested_sequence": "nested-sequence-field",
    "count_limit": "count-limit",
    "timestamp_field": "ts-field",
    "on_overflow": "braid.on-overflow",
    "lg_k": "braid.lg-k",
    "hll_type": "braid.hll-type",
}
"""The table format's option, without `fields.<column>.`, of each field of `AggregateSpec`."""


class AggregateSpec(Contract):
    """An aggregate function with its options; an option that is None has the function's default.

    Attributes:
        function: The function's name, such as `sum`, `listagg` or `nested_update`.
        ignore_retract: Whether deletes and updates-before leave the column as it is.
        distinct: For `collect` and `listagg`: keep each element or token once.
        delimiter: For `listagg`: the text between two values.
        nested_key: For the nested functions: fields of the ROW that identify its rows.
        nested_key_null_strategy: The effect of a null in the nested key.
        nested_sequence: For `nested_update`: fields of the ROW that order versions of a row.
        count_limit: For `nested_update`: the largest number of rows that are kept.
        timestamp_field: For `merge_map_with_keytime`: the field of the ROW that holds its time.
        on_overflow: For `sum` and `product`: the effect of a value that the integer or DECIMAL
            cannot hold. `wrap`: the value wraps round. `fail`: merges of the column fail.
            None: `wrap` in aggregation tables, and in partial-update tables unless they have exactly
            one sequence group; with one group `fail`, also where another stream writes unordered columns.
        lg_k: For `hll_sketch` and `theta_sketch`: the size of all sketches, as a power of 2. None: 12.
        hll_type: For `hll_sketch`: the type of all sketches. None: `HLL_4`.
        options: Options of a user's own function, by their names.
    """

    function: str = Field(min_length=1, examples=["sum"])
    ignore_retract: StrictBool | None = None
    distinct: StrictBool | None = None
    delimiter: str | None = None
    nested_key: tuple[str, ...] | None = Field(default=None, min_length=1)
    nested_key_null_strategy: Literal["merge", "ignore", "error"] | None = None
    nested_sequence: tuple[str, ...] | None = Field(default=None, min_length=1)
    count_limit: PositiveInt | None = None
    timestamp_field: str | None = Field(default=None, min_length=1)
    on_overflow: Literal["wrap", "fail"] | None = None
    lg_k: PositiveInt | None = None
    hll_type: Literal["HLL_4", "HLL_6", "HLL_8"] | None = None
    options: Mapping[str, str] = Field(default_factory=dict)

    @property
    def format_options(self) -> Mapping[str, str]:
        """The table format's options, without `fields.<column>.`, with their values."""
        found = {"aggregate-function": self.function}
        for field, option in OPTION_OF_FIELD.items():
            value = getattr(self, field)
            if value is not None:
                found[option] = _option_text(value)
        return found | dict(self.options)


def _option_text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)
