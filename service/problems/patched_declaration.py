"""Declarations with the changes of a merge patch, and the problems of their fields, located in the patch.

The rules check the declaration as a whole. A problem has a pointer only if the patch has the place, because the client can
edit nothing else.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from braid.registry.errors import DefinitionRefused
from braid.schemas import FieldProblem, IntervalTrigger, StreamDefinition, StreamSpec, TableSpec
from braid.schemas.merge_patch import MergePatch
from braid.service.checked_body import findings
from braid.service.problems.request_problems import field_problems

ModelT = TypeVar("ModelT", bound=BaseModel)

_REMOVED_HINT: Final = (
    "it is in the declaration so far: add it with the value null, or replace what needs it"
)


def patched_table(spec: TableSpec, patch: MergePatch) -> TableSpec:
    """Return a table's declaration with the changes of a patch.

    Raises:
        DefinitionRefused: The result is no declaration; `problems` has all reasons.
    """
    return _validated(TableSpec, spec.model_dump(mode="json", by_alias=True), patch)


def patched_stream(spec: StreamSpec, patch: MergePatch) -> StreamDefinition:
    """Return a stream's definition with the changes of a patch.

    Of `trigger` and `trigger_ms`, which say the same, the one that the patch does not have follows the other.
    `starting_offsets` counts as requested only if the patch has it.

    Raises:
        DefinitionRefused: The result is no definition; `problems` has all reasons.
    """
    values = spec.model_dump(mode="json", by_alias=True)
    changed = patch.root.keys()
    if "trigger" in changed and "trigger_ms" not in changed:
        del values["trigger_ms"]
    elif "trigger_ms" in changed and isinstance(spec.trigger, IntervalTrigger):
        del values["trigger"]
    definition = _validated(StreamDefinition, values, patch)
    given = definition.model_fields_set - ({"starting_offsets"} - changed)
    fields = {name: getattr(definition, name) for name in StreamDefinition.model_fields}
    return StreamDefinition.model_construct(given, **fields)


def located_in(patch: MergePatch, problems: Iterable[FieldProblem]) -> tuple[FieldProblem, ...]:
    """Return problems of a patched declaration with pointers into the patch, or without a pointer."""
    return tuple(
        problem
        if problem.pointer is None or _has(patch.root, problem.path)
        else problem.model_copy(update={"pointer": None})
        for problem in problems
    )


def _validated(model: type[ModelT], values: dict[str, Any], patch: MergePatch) -> ModelT:
    patched = patch.applied_to(values)
    try:
        return model.model_validate(patched)
    except ValidationError as error:
        found = field_problems(findings(error), body=patched, model=model)
        problems = [
            one.model_copy(update={"hint": _REMOVED_HINT}) if _is_left_over(one, patch) else one
            for one in found
        ]
        count = len(problems)
        message = f"{count} field{'s are' if count != 1 else ' is'} not as declared, with the changes of the patch"
        raise DefinitionRefused(message, problems=located_in(patch, problems)) from error


def _is_left_over(problem: FieldProblem, patch: MergePatch) -> bool:
    """Return whether a field is unknown that the patch has not, such as an option of the former kind of a trigger."""
    return problem.message == "unknown field" and not _has(patch.root, problem.path)


def _has(value: Any, path: Iterable[str | int]) -> bool:
    for part in path:
        is_name = isinstance(value, dict) and part in value
        is_index = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if not (is_name or is_index):
            return False
        value = value[part]
    return True
