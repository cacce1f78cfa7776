"""Import of declarations over HTTP: the order of its steps, the tables that the client may change, and the outcome for each declaration."""

from collections.abc import Callable
from typing import Final

from braid.lake import LakeError
from braid.registry.declaration_import import DeclarationImporter, ImportStep
from braid.registry.errors import RegistryError
from braid.schemas import FieldProblem, OperationProblem, ProblemCode
from braid.schemas.access import AccessScope
from braid.schemas.declaration_document import Declaration, StreamDeclaration, TableDeclaration
from braid.schemas.declaration_transfer import (
    DeclarationImport,
    DeclarationOutcome,
    ImportAction,
    ImportAnswer,
)
from braid.schemas.field_problems import field_path, json_pointer, problem_at
from braid.schemas.problem import JsonPath

_HINT: Final = "give it once"


def imported(
    request: DeclarationImport,
    importer: DeclarationImporter,
    *,
    scope: AccessScope,
    may: Callable[[AccessScope, str], bool],
    describe: Callable[[Exception], OperationProblem],
) -> ImportAnswer:
    """Import the declarations of a request, each by itself: one that is refused does not keep the others from being registered.

    Args:
        request: The declarations.
        importer: Registers them, or plans that.
        scope: What the client needs for each table.
        may: Returns whether the client has a scope for a table.
        describe: Returns the problem of an error.
    """
    outcomes: dict[int, DeclarationOutcome] = {}
    places: dict[tuple[str, str | None], int] = {}
    # Sorting keeps the order of the request among tables and among streams.
    order = sorted(
        enumerate(request.declarations), key=lambda one: isinstance(one[1], StreamDeclaration)
    )
    for place, declaration in order:
        key = _key(declaration)
        first = places.setdefault(key, place)
        if first != place:
            outcomes[place] = _given_twice(key, place, first)
        elif not may(scope, key[0]):
            outcomes[place] = _not_allowed(key, scope)
        else:
            outcomes[place] = _outcome(place, declaration, request, importer, describe)
    answer = tuple(outcomes[place] for place in range(len(outcomes)))
    return ImportAnswer(outcomes=answer, failed=sum(one.problem is not None for one in answer))


def _key(declaration: Declaration) -> tuple[str, str | None]:
    """Return the name of the table, and that of the stream."""
    if isinstance(declaration, StreamDeclaration):
        return declaration.table, declaration.name
    return declaration.name, None


def _outcome(
    place: int,
    declaration: Declaration,
    request: DeclarationImport,
    importer: DeclarationImporter,
    describe: Callable[[Exception], OperationProblem],
) -> DeclarationOutcome:
    table, stream = _key(declaration)
    try:
        step = _step(declaration, request, importer)
    except (LakeError, RegistryError) as error:
        if error.retryable and isinstance(error, LakeError):
            raise  # in an outage, the next declarations would only wait for storage, too
        problem = describe(error)
        path: JsonPath = ("declarations", place, "spec")
        errors = tuple(_located(one, path) for one in problem.errors)
        return DeclarationOutcome(
            table=table,
            stream=stream,
            action=importer.action_for(table, stream),
            problem=problem.model_copy(update={"errors": errors}),
        )
    return DeclarationOutcome(table=table, stream=stream, action=step.action, plan=step.effects)


def _step(
    declaration: Declaration, request: DeclarationImport, importer: DeclarationImporter
) -> ImportStep:
    if isinstance(declaration, TableDeclaration):
        return importer.import_table(declaration.name, declaration.spec)
    return importer.import_stream(
        declaration.table,
        declaration.name,
        declaration.spec,
        initial_state=request.initial_state or declaration.initial_state,
    )


def _located(problem: FieldProblem, path: JsonPath) -> FieldProblem:
    """Return a problem of a declaration with its pointer in the request; `path` leads to the declaration."""
    if problem.pointer is None:
        return problem
    whole = (*path, *problem.path)
    return problem.model_copy(
        update={
            "pointer": json_pointer(path) + problem.pointer,
            "field": f"{field_path(path)}.{problem.field}" if problem.field else field_path(path),
            "path": whole,
        }
    )


def _given_twice(key: tuple[str, str | None], place: int, first: int) -> DeclarationOutcome:
    message = f"is declared by `declarations[{first}]` already"
    found = problem_at(
        "declarations", place, "name", value=key[1] or key[0], message=message, hint=_HINT
    )
    return _refused(
        key,
        OperationProblem(
            code=ProblemCode.INVALID_REQUEST, detail="the name is given twice", errors=(found,)
        ),
    )


def _not_allowed(key: tuple[str, str | None], scope: AccessScope) -> DeclarationOutcome:
    detail = f"the client does not have the scope `{scope.value}` for the table {key[0]}"
    return _refused(key, OperationProblem(code=ProblemCode.SCOPE_MISSING, detail=detail))


def _refused(key: tuple[str, str | None], problem: OperationProblem) -> DeclarationOutcome:
    table, stream = key
    return DeclarationOutcome(
        table=table, stream=stream, action=ImportAction.CREATE, problem=problem
    )
