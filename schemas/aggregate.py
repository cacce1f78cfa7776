"""The declaration of an aggregate function: how the values of one column combine."""

from collections.abc import Mapping
from typing import Final, Literal

from pydantic import Field

from schemas.contract import Contract, PositiveInt, StrictBool

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
    """An aggregate function and what it is told; what is None has the function's default.

    Attributes:
        function: Its name, such as `sum`, `listagg` or `nested_update`.
        ignore_retract: Deletes and updates-before leave the column as it is.
        distinct: Each element or token once; of `collect` and `listagg`.
        delimiter: Between two texts; of `listagg`.
        nested_key: Fields of the ROW that tell its rows apart; of the nested functions.
        nested_key_null_strategy: What becomes of rows with a null in that key.
        nested_sequence: Fields of the ROW that say which of two rows is newer; of `nested_update`.
        count_limit: The most rows that are kept; of `nested_update`.
        timestamp_field: The field of the ROW that holds its time; of `merge_map_with_keytime`.
        on_overflow: What becomes of a value that an integer or DECIMAL does not hold; of `sum` and
            `product`. `wrap`: it wraps round, which minds no order. `fail`: the column's merges
            fail. None: `wrap` in tables that take several streams, else `fail`.
        lg_k: The size of all sketches, as a power of 2; of `hll_sketch` and `theta_sketch`. None: 12.
        hll_type: The type of all sketches; of `hll_sketch`. None: `HLL_4`.
        options: Options of a function of your own, by their names.
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
        """What is declared, by the options of the table format without `fields.<column>.`."""
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
