"""The aggregate functions that columns may have, as the service answers them."""

from collections.abc import Iterator
from typing import Final

from braid.lake import (
    FunctionDeclaration,
    FunctionOption,
    UnsupportedFeature,
    function_named,
    function_names,
)
from braid.schemas import OPTION_OF_FIELD
from braid.schemas.resource_lists import AggregationList, AggregationView, FunctionOptionView

_FIELD_OF_OPTION: Final = {option: field for field, option in OPTION_OF_FIELD.items()}
_IGNORE_RETRACT: Final = FunctionOptionView(
    field="ignore_retract",
    option=OPTION_OF_FIELD["ignore_retract"],
    value="boolean",
    default="false",
    meaning="Values that are taken back leave the column as it is.",
)
"""An option that every function has, because the engine itself reads it."""


def list_aggregations() -> AggregationList:
    """Return the functions of the table format, and those of installed packages."""
    found: list[AggregationView] = []
    unreadable: list[str] = []
    for name in function_names():
        try:
            declaration = function_named(name)
        except UnsupportedFeature:
            unreadable.append(name)
        else:
            assert declaration is not None, "a listed function exists"
            found.append(_view(declaration))
    return AggregationList(functions=tuple(found), unreadable=tuple(unreadable))


def _view(declaration: FunctionDeclaration) -> AggregationView:
    is_custom = "." in declaration.name
    return AggregationView(
        name=declaration.name,
        aliases=declaration.aliases,
        custom=is_custom,
        summary=declaration.summary,
        types=declaration.accepted,
        null=declaration.null_rule,
        older_value=declaration.late_rule,
        retract=declaration.retract_rule,
        order_free=declaration.order_free,
        options=(*_options(declaration.options, is_custom=is_custom), _IGNORE_RETRACT),
    )


def _options(
    options: tuple[FunctionOption, ...], *, is_custom: bool
) -> Iterator[FunctionOptionView]:
    for option in options:
        yield FunctionOptionView(
            field=None if is_custom else _FIELD_OF_OPTION.get(option.key),
            option=option.key,
            value=option.type,
            default=option.default,
            meaning=option.meaning,
        )
