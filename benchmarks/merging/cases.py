"""Cases of the merge benchmark: engine, columns, records and aim of each line.

Every table has ten value columns unless its functions need others: BIGINT, DOUBLE and STRING in
turn, with a fifth of the values null. Each of the four files has nine of ten keys, so a key has 3.6
versions on average. Records are written in no order of their keys, so sequence numbers do not
follow the keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

VALUE_TYPES = ("BIGINT", "DOUBLE", "STRING")
VALUES = [(f"v{index}", VALUE_TYPES[index % 3]) for index in range(10)]
DELETED_SHARE = 0.05

_BASE_OPTIONS = {"write-only": "true"}
_BIGINT_KEY = (("k", "BIGINT"),)
_TIMES_JAVA = 2.0
_TIMES_JAVA_ELSEWHERE = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line.

    Attributes:
        name: As printed.
        options: Of the table, without the number of buckets.
        columns: Value columns and their types.
        ordering: BIGINT columns that order records, in no order of their own.
        key: Key columns: one BIGINT, one STRING, or the three of a composite key.
        aim_times: How many times as fast as the reference, warm, this line should be.
        deleted_share: Share of the keys of which one record is a delete.
        without: Name of the same line without deletes; None where there are none.
    """

    name: str
    options: Mapping[str, str]
    columns: tuple[tuple[str, str], ...] = tuple(VALUES)
    ordering: tuple[str, ...] = ()
    key: tuple[tuple[str, str], ...] = _BIGINT_KEY
    aim_times: float = _TIMES_JAVA
    deleted_share: float = 0.0
    without: str | None = None
    table_options: Mapping[str, str] = field(init=False)

    def __post_init__(self) -> None:
        """Add the options that every table has."""
        object.__setattr__(self, "table_options", {**_BASE_OPTIONS, **self.options})

    @property
    def all_columns(self) -> list[tuple[str, str]]:
        """Key, ordering and value columns."""
        return [*self.key, *((name, "BIGINT") for name in self.ordering), *self.columns]


def _functions(functions: Mapping[str, str]) -> dict[str, str]:
    return {f"fields.{name}.aggregate-function": value for name, value in functions.items()}


def _with_deletes(case: Case) -> Case:
    return replace(
        case,
        name=f"{case.name}, 5 % deletes",
        aim_times=_TIMES_JAVA_ELSEWHERE,
        deleted_share=DELETED_SHARE,
        without=case.name,
    )


_PARTIAL = {"merge-engine": "partial-update"}
_GROUPS = {
    **_PARTIAL,
    "fields.g0.sequence-group": "v0,v1,v2,v3",
    "fields.g1.sequence-group": "v4,v5,v6",
    "fields.g2.sequence-group": "v7,v8,v9",
}
_ORDERING = ("g0", "g1", "g2")
_AGGREGATION = {
    "merge-engine": "aggregation",
    **_functions(
        {
            "v0": "sum",
            "v1": "sum",
            "v2": "last_value",
            "v3": "max",
            "v4": "max",
            "v5": "last_non_null_value",
            "v6": "sum",
            "v7": "last_value",
            "v8": "max",
            "v9": "last_non_null_value",
        }
    ),
    # The largest value cannot be taken back.
    **{f"fields.{name}.ignore-retract": "true" for name in ("v3", "v4", "v8")},
}
_STRING_KEY = (("k", "STRING"),)
_COMPOSITE_KEY = (("region", "INT"), ("shop", "STRING"), ("number", "BIGINT"))

_partial = Case(name="partial-update", options=_PARTIAL)
_groups = Case(name="partial-update, 3 groups", options=_GROUPS, ordering=_ORDERING)
_sums = Case(
    name="partial-update, 3 groups, sums",
    options={**_GROUPS, **_functions({"v0": "sum", "v4": "sum", "v9": "sum"})},
    ordering=_ORDERING,
)
_aggregation = Case(name="aggregation, sum max last", options=_AGGREGATION)
_deduplicate = Case(name="deduplicate", options={"merge-engine": "deduplicate"})

CASES = (
    _partial,
    _groups,
    _sums,
    _aggregation,
    _deduplicate,
    Case(
        name="deduplicate, sequence.field",
        options={"merge-engine": "deduplicate", "sequence.field": "g0"},
        ordering=("g0",),
    ),
    _with_deletes(_deduplicate),
    _with_deletes(_groups),
    _with_deletes(_aggregation),
    replace(
        _partial,
        name="partial-update, string key",
        key=_STRING_KEY,
        aim_times=_TIMES_JAVA_ELSEWHERE,
    ),
    replace(
        _deduplicate,
        name="deduplicate, string key",
        key=_STRING_KEY,
        aim_times=_TIMES_JAVA_ELSEWHERE,
    ),
    replace(
        _partial,
        name="partial-update, composite key",
        key=_COMPOSITE_KEY,
        aim_times=_TIMES_JAVA_ELSEWHERE,
    ),
    Case(
        name="aggregation, listagg",
        columns=(("t0", "STRING"), ("t1", "STRING"), ("v0", "BIGINT"), ("v1", "BIGINT")),
        options={
            "merge-engine": "aggregation",
            **_functions({"t0": "listagg", "t1": "listagg", "v0": "max", "v1": "last_value"}),
        },
        aim_times=_TIMES_JAVA_ELSEWHERE,
    ),
    Case(
        name="aggregation, collect",
        columns=(
            ("l0", "ARRAY<BIGINT>"),
            ("l1", "ARRAY<BIGINT>"),
            ("v0", "BIGINT"),
            ("v1", "BIGINT"),
        ),
        options={
            "merge-engine": "aggregation",
            **_functions({"l0": "collect", "l1": "collect", "v0": "max", "v1": "last_value"}),
        },
        aim_times=_TIMES_JAVA_ELSEWHERE,
    ),
)


def case_named(name: str) -> Case:
    """Return the case of a name.

    Raises:
        KeyError: There is none.
    """
    return {case.name: case for case in CASES}[name]
