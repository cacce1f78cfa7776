"""Rules for the declared time to live of rows.

Pure. The time field is a declared column or a generated `<group>__at`, and of type INT, BIGINT or TIMESTAMP. The
engine checks the rules that depend on options of the table, such as its changelog (`engine_check`).
"""

from collections.abc import Iterator
from typing import Final

from braid.lake import TypeRoot
from braid.registry.layout.declared_types import parsed_type
from braid.schemas import FieldProblem, TableSpec
from braid.schemas.field_problems import problem_at, quoted_list

_TIMES: Final = (TypeRoot.INT, TypeRoot.BIGINT, TypeRoot.TIMESTAMP, TypeRoot.TIMESTAMP_LTZ)


def check_row_ttl(spec: TableSpec) -> Iterator[FieldProblem]:
    """Yield the problems of the declared time to live."""
    if spec.row_ttl is None:
        return
    name = spec.row_ttl.column
    types = {column.name: column.type for column in spec.columns}
    if spec.tracking:
        generated = (f"{group.name}__at" for group in spec.sequence_groups)
        types |= dict.fromkeys(generated, "TIMESTAMP_LTZ(3)")
    if name not in types:
        yield problem_at(
            "row_ttl",
            "column",
            value=name,
            message="no such column",
            hint=f"columns: {quoted_list(types)}",
        )
        return
    data_type = parsed_type(types[name])
    if data_type is not None and data_type.root not in _TIMES:
        yield problem_at(
            "row_ttl",
            "column",
            value=name,
            message=f"the column is {types[name]}, expected INT, BIGINT, TIMESTAMP or TIMESTAMP_LTZ",
            hint="whole numbers are seconds since 1970, or milliseconds from 10^12 on in a BIGINT",
        )
