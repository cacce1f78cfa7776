"""Reference pages of the operations of the HTTP API, from its OpenAPI document.

There is a page for each part of the addresses, such as `streams`, and one page for all contracts that no page of
declarations describes.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from braid.lake import MemoryFileIO
from braid.service.app import create_app
from braid.service.documented_problems import TABLE
from braid.service.problems.problem_response import MEDIA_TYPE
from braid.service.settings import ServiceSettings
from docs.generator.declarations.schema_text import Schema, schema_text
from docs.generator.markdown import bullets, code, page, section, subsection, table
from docs.generator.value_text import json_text

FOLDER = "docs/reference/operations"
_CONTRACTS = "contracts"
_PROBLEMS = "../http-api.md#problems"
_ACCESS = "../http-api.md#access-control"
_PROBLEM = re.compile(r"`(\w+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of the OpenAPI document.

    Attributes:
        method: In capitals.
        path: The address with the names of its parameters.
        described: The operation, as OpenAPI describes it.
    """

    method: str
    path: str
    described: Mapping[str, Any]

    @property
    def title(self) -> str:
        """Method and address."""
        return f"{self.method} {self.path}"

    @property
    def part(self) -> str:
        """The part of the addresses that it belongs to, which is the name of its page."""
        if self.path.startswith(TABLE):
            part = re.split(r"[/:]", self.path.removeprefix(TABLE).removeprefix("/"))[0]
            return "tables" if not part or part.startswith("validate") else part
        version, _, rest = self.path.strip("/").partition("/")
        return re.split(r"[/:]", rest)[0] if version == "v1" and rest else "service"


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document of a service."""
    settings = ServiceSettings(warehouse="/warehouse")
    document: dict[str, Any] = create_app(settings, file_io=MemoryFileIO()).openapi()
    return document


def operation_pages(document: Mapping[str, Any], declared: Mapping[str, str]) -> dict[str, str]:
    """Return the pages, by path.

    Args:
        document: The OpenAPI document.
        declared: Markdown links to the contracts that the pages of declarations describe, by name.
    """
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    own = {name: schema for name, schema in schemas.items() if name not in declared}
    here = {name: f"[{name}](#{name.lower()})" for name in own} | dict(declared)
    there = {name: f"[{name}]({_CONTRACTS}.md#{name.lower()})" for name in own} | dict(declared)
    by_part: dict[str, list[Operation]] = defaultdict(list)
    for operation in _operations(document):
        by_part[operation.part].append(operation)
    pages = {
        f"{FOLDER}/{part}.md": page(
            part.replace("-", " ").capitalize(),
            *(_operation_section(operation, there) for operation in by_part[part]),
        )
        for part in sorted(by_part)
    }
    contracts = [_contract_section(name, own[name], here) for name in sorted(own)]
    pages[f"{FOLDER}/{_CONTRACTS}.md"] = page("Contracts", _CONTRACTS_TEXT, *contracts)
    pages[f"{FOLDER}/README.md"] = _index(by_part)
    return pages


_CONTRACTS_TEXT = (
    "The bodies of requests and answers, by name. The pages of [declarations](../declarations/README.md) describe those of "
    "tables and streams. Answers may get more fields with any release; clients have to ignore fields that they do not know."
)


def _operations(document: Mapping[str, Any]) -> Iterator[Operation]:
    for path, operations in document["paths"].items():
        for method, described in operations.items():
            yield Operation(method=method.upper(), path=path, described=described)


def _operation_section(operation: Operation, links: Mapping[str, str]) -> str | None:
    described = operation.described
    return section(
        code(operation.title),
        described.get("description") or described.get("summary"),
        _scope(described["security"]),
        table(
            ("parameter", "in", "value", "default", "meaning"),
            [_parameter(parameter, links) for parameter in described.get("parameters", ())],
        ),
        _body(described.get("requestBody"), links),
        table(("status", "answer", "body"), _answers(described["responses"], links)),
        table(("status", f"[problems]({_PROBLEMS})"), _problems(described["responses"])),
    )


def _scope(security: Sequence[Mapping[str, Sequence[str]]]) -> str:
    scopes = [scope for one in security for names in one.values() for scope in names]
    if not scopes:
        return "Needs no access token."
    return f"Needs the [scope]({_ACCESS}) {', '.join(map(code, scopes))}."


def _parameter(parameter: Mapping[str, Any], links: Mapping[str, str]) -> Sequence[str]:
    schema = parameter["schema"]
    return (
        code(parameter["name"]),
        parameter["in"],
        schema_text(_without_null(schema), links),
        "required" if parameter.get("required") else _default(schema),
        parameter.get("description", ""),
    )


def _body(body: Mapping[str, Any] | None, links: Mapping[str, str]) -> str | None:
    if body is None:
        return None
    kinds = dict.fromkeys(
        schema_text(content.get("schema", {}), links) for content in body["content"].values()
    )
    types = ", ".join(map(code, body["content"]))
    optional = "" if body.get("required") else " It may be left out."
    return f"Body ({types}): {', or '.join(kinds)}.{optional}"


def _answers(responses: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[Sequence[str]]:
    for status, answer in responses.items():
        content = answer.get("content", {})
        if MEDIA_TYPE in content:
            continue
        bodies = [
            f"{schema_text(one['schema'], links)} ({code(media_type)})"
            if "schema" in one
            else code(media_type)
            for media_type, one in content.items()
        ]
        phrase = HTTPStatus(int(status)).phrase
        yield status, answer.get("description") or phrase, ", or ".join(bodies) or "none"


def _problems(responses: Mapping[str, Any]) -> Iterator[Sequence[str]]:
    for status, answer in responses.items():
        if MEDIA_TYPE in answer.get("content", {}):
            yield status, ", ".join(map(code, _PROBLEM.findall(answer["description"])))


def _contract_section(name: str, schema: Schema, links: Mapping[str, str]) -> str | None:
    required = schema.get("required", ())
    rows = [
        (
            code(field),
            schema_text(_without_null(one), links),
            "required" if field in required else _default(one),
            one.get("description", ""),
        )
        for field, one in schema.get("properties", {}).items()
    ]
    shown = table(("field", "value", "default", "meaning"), rows)
    values = bullets(code(json_text(value)) for value in schema.get("enum", ()))
    other = None if rows or values else f"A value: {schema_text(schema, links)}."
    return section(name, schema.get("description"), shown or values or other)


def _without_null(schema: Schema) -> Schema:
    """Return the schema without the null that is the default anyway."""
    if "anyOf" not in schema or schema.get("default", ...) is not None:
        return schema
    return {**schema, "anyOf": [one for one in schema["anyOf"] if one != {"type": "null"}]}


def _default(schema: Schema) -> str:
    return code(json_text(schema["default"])) if "default" in schema else ""


def _index(by_part: Mapping[str, Sequence[Operation]]) -> str:
    parts = (
        subsection(
            f"[{part.replace('-', ' ').capitalize()}]({part}.md)",
            table(
                ("operation", "effect"),
                [(code(one.title), str(one.described.get("summary", ""))) for one in by_part[part]],
            ),
        )
        for part in sorted(by_part)
    )
    return page(
        "HTTP operations",
        "Parameters, bodies, answers and problems of every operation, from the service's OpenAPI document "
        "(`/v1/openapi.json`). The [HTTP API](../http-api.md) explains them.",
        *parts,
    )
