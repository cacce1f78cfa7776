"""Evolution of a stream's table through the registry: new fields become columns, and columns get wider types.

If the registry refuses several changes together, they are tried one by one.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from braid.lake import InvalidRequest, TableSchema
from braid.records.new_fields.schema_delta import SchemaDelta
from braid.records.new_fields.value_shape import type_of
from braid.records.new_fields.wider_type import widened
from braid.records.stream_plan import StreamPlan
from braid.registry.alteration.alteration import Alteration
from braid.registry.alteration.stream_evolution import NewField, evolve_stream
from braid.registry.errors import DefinitionRefused
from braid.registry.registrar import Registrar
from braid.schemas import TableDocument


class StreamEvolver(Protocol):
    """Changes the table of a stream."""

    def evolve(self, plan: StreamPlan, delta: SchemaDelta) -> Mapping[str, str]:
        """Make columns of new fields and widen columns, as far as the rules allow.

        Args:
            plan: The stream's plan in effect.
            delta: What its records need.

        Returns:
            The reasons why fields and columns stay as they are, by the address of a new field or the name of
            a column.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryEvolver:
    """Changes the table through the registry, which checks that no other stream is harmed.

    Attributes:
        registrar: The warehouse's registrar.
    """

    registrar: Registrar

    def evolve(self, plan: StreamPlan, delta: SchemaDelta) -> Mapping[str, str]:
        """Alter the table once for the whole delta, or part by part where the rules refuse it as a whole.

        Raises:
            RegistryConflict: Another process changes the table during every attempt.
            LakeError: The storage does not answer.
        """
        try:
            self._alter(plan, delta)
        except (DefinitionRefused, InvalidRequest) as error:
            # The refusal may concern only one part: the parts are tried one by one, and the admissible ones are made.
            parts = _single(delta)
            if len(parts) == 1:
                return {parts[0][0]: _reason(error)}
            refused: dict[str, str] = {}
            for _, part in parts:
                refused |= self.evolve(plan, part)
            return refused
        return {}

    def _alter(self, plan: StreamPlan, delta: SchemaDelta) -> None:
        new = [NewField(path=path, type=type_of(shape)) for path, shape in delta.new.items()]

        def change(document: TableDocument, schema: TableSchema) -> Alteration:
            known = schema.fields_by_name
            wider = {
                name: wanted
                for name, shape in delta.wider.items()
                if name in known and (wanted := widened(known[name].type, shape)) is not None
            }
            return evolve_stream(document, schema, stream=plan.stream, new=new, wider=wider)

        self.registrar.alter(plan.table, change, stream=plan.stream)


def _single(delta: SchemaDelta) -> list[tuple[str, SchemaDelta]]:
    """Return the parts of a delta, each with its address or column."""
    return [
        *((".".join(path), SchemaDelta(new={path: shape})) for path, shape in delta.new.items()),
        *((name, SchemaDelta(wider={name: shape})) for name, shape in delta.wider.items()),
    ]


def _reason(error: DefinitionRefused | InvalidRequest) -> str:
    return next((problem.message for problem in error.problems), str(error).partition("\n")[0])
