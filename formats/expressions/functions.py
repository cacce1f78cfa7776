"""Allow list of the functions and operators of expressions, with the bound of each result's size and the arguments that must be literals.

The result of each function depends on its arguments alone, because a record that is read again, after a failure or as a dead
letter, has to become the same row. So the functions of the clock, of random numbers, of the session, of files and of the
process are not listed. Other functions are not listed because their result can have any size (`repeat`, `lpad`, `range`),
because their time does not grow linearly with a text (`levenshtein`), or because they take other expressions as arguments
(`list_transform`). Comparisons, AND, IN, CASE and CAST are not functions in this sense: `syntax` handles them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Final


class Growth(Enum):
    """The size of a result, in relation to those of the arguments.

    `LARGEST` is at most the largest, `SUM` at most the sum. `REPLACED` is the largest, times the number of characters
    that the last text among the arguments puts in the place of one.
    """

    LARGEST = "largest"
    SUM = "sum"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRule:
    """What an expression has to keep to when it uses a function.

    Attributes:
        growth: The size of a result.
        factor: What this size is multiplied by.
        literals_from: The index of the first argument that has to be a literal, as have all behind it; None: none.
        copies: How often the engine writes the first argument where the expression has it once.
    """

    growth: Growth = Growth.LARGEST
    factor: int = 1
    literals_from: int | None = None
    copies: int = 1


def _rules(names: str, rule: FunctionRule) -> dict[str, FunctionRule]:
    return dict.fromkeys(names.split(), rule)


_PLAIN: Final = FunctionRule()
_BUILDS: Final = FunctionRule(growth=Growth.SUM)
# A text to be searched for is a literal: for a text of the message the search could take the square of its length.
_SEARCHES: Final = FunctionRule(literals_from=1)
_REPLACES: Final = FunctionRule(growth=Growth.REPLACED, literals_from=1)
_SPLITS: Final = FunctionRule(factor=16, literals_from=1)  # each part is a value of its own

FUNCTIONS: Final[Mapping[str, FunctionRule]] = MappingProxyType(
    {
        # texts and bytes
        **_rules(
            "trim ltrim rtrim length char_length character_length strlen octet_length bit_length left right "
            "substring substr reverse starts_with prefix ends_with suffix ascii ord unicode chr "
            "md5 sha1 sha256 from_base64 unhex from_hex encode decode url_decode strip_accents",
            _PLAIN,
        ),
        **_rules("upper lower ucase lcase nfc_normalize url_encode", FunctionRule(factor=3)),
        **_rules("hex to_hex base64 to_base64", FunctionRule(factor=2)),
        **_rules(
            "contains instr strpos position translate like_escape not_like_escape ilike_escape "
            "not_ilike_escape regexp_matches regexp_full_match regexp_extract",
            _SEARCHES,
        ),
        **_rules("replace regexp_replace", _REPLACES),
        "array_to_string": FunctionRule(growth=Growth.REPLACED, literals_from=1, copies=2),
        **_rules("string_split str_split split string_to_array regexp_extract_all", _SPLITS),
        "split_part": FunctionRule(factor=16, literals_from=1, copies=2),
        **_rules("concat concat_ws", _BUILDS),
        "json_extract_string": _SEARCHES,
        "json_extract": _SEARCHES,
        "json_valid": _PLAIN,
        "json_array_length": _SEARCHES,
        "to_json": FunctionRule(growth=Growth.SUM, factor=6),
        # numbers
        **_rules(
            "abs sign ceil ceiling floor round round_even trunc sqrt cbrt exp ln log log2 log10 pow power mod "
            "greatest least isnan isinf isfinite gcd lcm xor bit_count radians degrees pi "
            "sin cos tan asin acos atan atan2",
            _PLAIN,
        ),
        # dates and times
        **_rules(
            "date_part datepart date_trunc datetrunc date_diff datediff date_sub datesub date_add "
            "strptime try_strptime epoch epoch_ms epoch_us epoch_ns make_date make_time make_timestamp "
            "make_timestamp_ms make_timestamp_ns to_timestamp timezone year quarter month week day hour minute "
            "second millisecond microsecond dayofweek dayofmonth dayofyear isodow isoyear weekday weekofyear "
            "yearweek dayname monthname last_day time_bucket to_years to_months to_weeks to_days to_hours "
            "to_minutes to_seconds to_milliseconds to_microseconds",
            _PLAIN,
        ),
        "strftime": FunctionRule(factor=20, literals_from=1),
        # lists, maps, structs
        **_rules("list_value struct_pack row map list_concat list_cat map_concat", _BUILDS),
        **_rules("struct_insert list_append list_prepend", _BUILDS),
        **_rules(
            "len array_length cardinality list_contains list_has array_contains list_extract list_element "
            "element_at list_position list_slice array_slice list_distinct list_sort list_sum list_min list_max "
            "list_avg map_keys map_values map_contains map_extract_value flatten",
            _PLAIN,
        ),
        "struct_extract": FunctionRule(literals_from=1),
        # choice
        "if": _PLAIN,
        "nullif": FunctionRule(copies=2),
    }
)
"""The functions, by the names that the engine's parser gives them."""

OPERATORS: Final[Mapping[str, FunctionRule]] = MappingProxyType(
    {
        **_rules("+ - * / // % ** ^ & | << >>", _PLAIN),
        "||": _BUILDS,
        **_rules("~~ !~~ ~~* !~~*", _SEARCHES),
        "^@": _PLAIN,
        "->>": _SEARCHES,
    }
)
"""The operators that the engine's parser writes as functions; `~~` is LIKE."""

PATTERN_FUNCTIONS: Final = frozenset(
    [
        *("regexp_matches", "regexp_full_match", "regexp_replace"),
        *("regexp_extract", "regexp_extract_all"),
    ]
)
"""The functions whose second argument is a regular expression."""

UNARY: Final = frozenset({"-", "+", "~"})
"""The operators with one operand."""
