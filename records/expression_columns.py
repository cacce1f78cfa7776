"""Search for the columns of a stream whose fields are also used by the stream's expressions.

With `on_new_field: evolve`, these columns get no wider type from messages, because the expressions
were checked for the present types.
"""

from collections.abc import Sequence

from braid.formats.expressions.compiled import compile_expression
from braid.formats.expressions.errors import ExpressionError
from braid.formats.mapped_column import MappedColumn
from braid.lake import InvalidRequest, Problem
from braid.registry.layout.stream_columns import expression_fields
from braid.schemas import StreamSpec


def columns_in_expressions(columns: Sequence[MappedColumn], stream: StreamSpec) -> frozenset[str]:
    """Return the names of the columns that are read from a field which an expression of the stream also uses.

    Args:
        columns: The columns of the stream, with the types that the table has.
        stream: The stream.

    Raises:
        InvalidRequest: An expression cannot be evaluated over these types. Registration checks this; another engine
            may have changed the table since.
    """
    fields = expression_fields(stream, columns)
    used: set[int] = set()
    for column in columns:
        if column.expression is None:
            continue
        try:
            used.update(compile_expression(column, fields).fields)
        except ExpressionError as error:
            reason, value = str(error), column.expression
            problem = Problem(field=column.name, value=value, message=reason, hint=error.hint)
            message = f"column {column.name} cannot be computed"
            raise InvalidRequest(message, problems=[problem]) from error
    return frozenset(fields[one].name for one in used if not fields[one].is_in_expression)
