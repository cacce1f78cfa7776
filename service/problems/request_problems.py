"""Conversion of the framework's validation errors to problems of fields.

pydantic only reports what is wrong. A person also needs to know what is expected, and a program needs the
location in the body.
"""

import inspect
import typing
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, RootModel

from braid.schemas import FieldProblem
from braid.schemas.field_problems import field_path, json_pointer, quoted_list
from braid.schemas.problem import JsonPath
from braid.schemas.stream import NULL_VALUE

_VALUE_LENGTH_MAX = 200

_MESSAGES = {
    "extra_forbidden": "unknown field",
    "missing": "this field is missing",
    "too_short": "at least one entry is expected",
    "tuple_type": "a list is expected",
    "model_type": "an object is expected",
    "model_attributes_type": "an object is expected",
    "union_tag_invalid": "no such kind",
    "union_tag_not_found": "this field is missing",
}
_UNKNOWN_KIND = ("union_tag_invalid", "union_tag_not_found")
_HINTS = {
    "missing": "add the field",
    "json_invalid": "send one JSON object",
    "int_type": "give a whole number, without quotes",
    "int_parsing": "give a whole number",
    "int_from_float": "give a whole number",
    "string_type": "give text, in quotes",
    "string_unicode": "escape both halves, such as \\ud83d\\ude00, or write the character itself",
    "bool_type": "give true or false, without quotes",
    "bool_parsing": "give true or false",
    "tuple_type": "give a list: [...]",
    "list_type": "give a list: [...]",
    "dict_type": "give an object: {...}",
    "mapping_type": "give an object: {...}",
    "model_type": "give an object: {...}",
    "model_attributes_type": "give an object: {...}",
    "string_too_short": "give at least one character",
    "too_short": "give at least one entry",
    NULL_VALUE: "give a value, or leave it out: the column is then read from its field, and is null without it",
    "union_tag_not_found": "add the field that names the kind",
}


def field_problems(
    errors: Sequence[Mapping[str, Any]], *, body: Any, model: type[BaseModel] | None
) -> list[FieldProblem]:
    """Return one problem per place; a place that contains another wrong one has none.

    Args:
        errors: pydantic's errors; the first part of `loc` is the part of the request: body, query,
            path.
        body: The parsed body; None when there is none.
        model: The model of the body; None when the address has no body.
    """
    found = [_field_problem(error, body=body, model=model) for error in errors]
    parents = _ancestors(problem.pointer for problem in found if problem.pointer is not None)
    merged: dict[tuple[str | None, str], FieldProblem] = {}
    for problem in found:
        # A list with a wrong entry also fails to match every other type of the field's union: the innermost
        # problem is the one to fix.
        if problem.pointer in parents:
            continue
        key = (problem.pointer, problem.field)
        earlier = merged.get(key)
        if earlier is None:
            merged[key] = problem
        elif earlier.message != problem.message:
            message = f"{earlier.message}, or {problem.message}"
            merged[key] = earlier.model_copy(update={"message": message})
    return list(merged.values())


def _ancestors(pointers: Iterable[str]) -> set[str]:
    """Return the pointers of all objects and lists that contain one of the given places."""
    ancestors: set[str] = set()
    for pointer in pointers:
        parent = pointer
        while parent:
            parent = parent.rpartition("/")[0]
            if parent in ancestors:  # and so are its own ancestors
                break
            ancestors.add(parent)
    return ancestors


def _field_problem(
    error: Mapping[str, Any], *, body: Any, model: type[BaseModel] | None
) -> FieldProblem:
    where, *parts = error["loc"]
    message = _MESSAGES.get(str(error["type"])) or _plain_message(str(error["msg"]))
    hint = _hint(error, message)
    if error["type"] in _UNKNOWN_KIND:
        parts.append(str(error["ctx"]["discriminator"]).strip("'"))
    if where != "body":
        name = str(parts[-1]) if parts else where
        return FieldProblem(
            pointer=None, field=name, value=_shown(error), message=message, hint=hint
        )
    is_missing = error["type"] == "missing" or error["type"] in _UNKNOWN_KIND
    path = _path_in(body, parts, is_missing=is_missing)
    if error["type"] == "extra_forbidden":
        known = _model_at(model, path[:-1], body)
        fields = {} if known is None else known.model_fields
        names = sorted(field.alias or name for name, field in fields.items())
        hint = f"known fields: {quoted_list(names)}"
    return FieldProblem(
        pointer=json_pointer(path),
        field=field_path(path) or "body",
        path=path,
        value=_shown_at(body, path) if error["type"] in _UNKNOWN_KIND else _shown(error),
        message=message,
        hint=hint,
    )


def _plain_message(message: str) -> str:
    message = message.removeprefix(
        "Value error, "
    )  # of a validator of ours, whose message is whole
    expected = message.removeprefix("Input should be ")
    return message[:1].lower() + message[1:] if expected == message else f"expected {expected}"


def _hint(error: Mapping[str, Any], message: str) -> str:
    context = error.get("ctx", {})
    if "expected_tags" in context:
        return f"known: {context['expected_tags']}"
    if "expected" in context:
        return f"give {context['expected']}"
    for bound, words in (("gt", "greater than"), ("ge", "at least"), ("le", "at most")):
        if bound in context:
            return f"give a number {words} {context[bound]}"
    if "max_length" in context:
        unit = "characters" if error["type"] == "string_too_long" else "entries"
        return f"give at most {context['max_length']} {unit}"
    return _HINTS.get(str(error["type"]), message)


def _shown(error: Mapping[str, Any]) -> str | None:
    return None if error["type"] == "missing" else _text_of(error.get("input"))


def _shown_at(body: Any, path: JsonPath) -> str | None:
    """Return the body's value at a path as text; None when there is none."""
    for part in path:
        is_there = isinstance(body, Mapping) and part in body
        body = body[part] if is_there or isinstance(body, list) else None
    return _text_of(body)


def _text_of(value: Any) -> str | None:
    if value is None or isinstance(value, Mapping | list | bytes):
        return None  # too much to quote, and it could contain secrets
    # Half of a surrogate pair is text in JSON and cannot be encoded as UTF-8.
    text = str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= _VALUE_LENGTH_MAX else text[:_VALUE_LENGTH_MAX] + "..."


def _path_in(body: Any, parts: Sequence[str | int], *, is_missing: bool) -> JsonPath:
    """Return the parts of pydantic's location that are in the body, without names of union members; the last part may be missing there."""
    path: list[str | int] = []
    current: Any = body
    for part in parts:
        is_index = isinstance(current, list) and isinstance(part, int)
        is_name = isinstance(current, Mapping) and part in current
        if is_index or is_name:
            current = current[part]
        elif is_missing and isinstance(current, Mapping) and part == parts[-1]:
            current = None  # a missing field, whose name is not in the body
        else:
            continue
        path.append(part)
    return tuple(path)


def _model_at(
    model: type[BaseModel] | None, path: Sequence[str | int], value: Any
) -> type[BaseModel] | None:
    """Return the model of the object at a path.

    Args:
        model: The model of the value.
        path: The path from the value to the object.
        value: The value as sent; where a field admits several models, it decides which one is meant.
    """
    if model is not None and issubclass(model, RootModel):
        return _model_inside(model.model_fields["root"].annotation, path, value)
    if not path or model is None:
        return model
    name, *rest = path
    field = model.model_fields.get(str(name))
    inner = value.get(name) if isinstance(value, Mapping) else None
    return None if field is None else _model_inside(field.annotation, rest, inner)


def _model_inside(annotation: Any, path: Sequence[str | int], value: Any) -> type[BaseModel] | None:
    """Return the model of the object at a path from a value whose type is annotated."""
    while path and isinstance(path[0], int):
        value = value[path[0]] if isinstance(value, list) else None
        path = path[1:]
    models = _models_in(annotation)
    fitting = [one for one in models if _is_of_kind(one, value)]
    return _model_at(next(iter(fitting or models), None), path, value)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside of an annotation such as `tuple[ColumnSpec, ...]`."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return [annotation]
    return [one for argument in typing.get_args(annotation) for one in _models_in(argument)]


def _is_of_kind(model: type[BaseModel], value: Any) -> bool:
    """Return whether an object has the fixed values (such as `change`) of a model's fields."""
    fixed = {
        name: typing.get_args(field.annotation)
        for name, field in model.model_fields.items()
        if typing.get_origin(field.annotation) is typing.Literal
    }
    return isinstance(value, Mapping) and all(
        value.get(name) in words for name, words in fixed.items()
    )
