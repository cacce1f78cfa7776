"""Reference pages of the declarations that arrive over HTTP: tables, streams, message formats, schema changes, definition files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import get_args

from braid.schemas import (
    AggregateSpec,
    Contract,
    DefinitionFile,
    SchemaChanges,
    StreamDefinition,
    TableSpec,
    TableTests,
)
from braid.schemas.declaration_document import StreamDeclaration, TableDeclaration
from braid.schemas.message_format import ChangeFormat, KeyFormat, RowFormat
from docs.generator.declarations import declared_examples as examples
from docs.generator.declarations.cluster_file_page import cluster_file_page
from docs.generator.declarations.contract_sections import (
    DescribedSchema,
    described_schemas,
    field_examples,
    schema_section,
)
from docs.generator.declarations.field_changes import stream_changes, table_changes
from docs.generator.markdown import block, bullets, page, section, subsection

FOLDER = "docs/reference/declarations"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarationPage:
    """A page of a declaration and of all that it contains, except what has an earlier page.

    Attributes:
        stem: The name of the file.
        title: The heading.
        introduction: What the declaration is, and where it is sent.
        roots: The declarations.
        examples: Complete declarations, as JSON, by title.
        changes: The section that says how fields change; None without one.
    """

    stem: str
    title: str
    introduction: str
    roots: tuple[type[Contract], ...]
    examples: Mapping[str, object] = field(default_factory=dict)
    changes: str | None = None


def _pages() -> tuple[DeclarationPage, ...]:
    """Return the pages; a contract is described on the first one that reaches it."""
    files = examples.FILES
    return (
        DeclarationPage(
            stem="table-tests",
            title="Table tests",
            introduction="The field `tests` of a [table](tables.md), and the body of `POST …/{table}:test`. The guide is "
            "[table tests](../../guides/table-tests.md).",
            roots=(TableTests,),
            examples={"Tests of a table": examples.ORDERS["table"]["tests"]},
        ),
        DeclarationPage(
            stem="aggregates",
            title="Aggregates",
            introduction="The field `aggregate` of a column of a [table](tables.md). The functions are in the "
            "[reference of aggregate functions](../aggregate-functions/README.md).",
            roots=(AggregateSpec,),
            examples={
                **{
                    f"`{column['aggregate']['function']}`": column["aggregate"]
                    for column in examples.VISITS["table"]["columns"]
                    if "aggregate" in column
                },
                "A function of your own": examples.OWN_FUNCTION,
            },
        ),
        DeclarationPage(
            stem="tables",
            title="Tables",
            introduction="The body of `PUT /v1/tables/{database}/{table}` and of `POST …/validate`. The "
            "[HTTP reference](../http-api.md#tables) has the rules that combine fields, and "
            "[which row wins](../../guides/which-row-wins.md) explains merging.",
            roots=(TableSpec,),
            examples={f"`{file['name']}`": file["table"] for file in files},
            changes=table_changes(),
        ),
        DeclarationPage(
            stem="message-formats",
            title="Message formats",
            introduction="The fields `format` and `key_format` of a [stream](streams.md). A format that needs no options can be "
            "given by its name: `json`, `raw`, `maxwell`, `canal`. The guides are "
            "[message formats](../../guides/message-formats.md) and [change capture](../../guides/change-capture.md).",
            roots=(*get_args(RowFormat), *get_args(ChangeFormat), KeyFormat),
            examples={
                **examples.FORMATS,
                "CSV": examples.VISITS["streams"]["visits"]["format"],
                "Debezium": examples.CUSTOMERS["streams"]["customers"]["format"],
                "Kafka keys": examples.VISITS["streams"]["visits"]["key_format"],
            },
        ),
        DeclarationPage(
            stem="streams",
            title="Streams",
            introduction="The body of `PUT /v1/tables/{database}/{table}/streams/{stream}` and of `POST …/validate`. The "
            "[HTTP reference](../http-api.md#streams) has the rules that combine fields.",
            roots=(StreamDefinition,),
            examples={
                f"`{name}` of `{file['name']}`": stream
                for file in files
                for name, stream in file["streams"].items()
            },
            changes=stream_changes(),
        ),
        DeclarationPage(
            stem="schema-changes",
            title="Schema changes",
            introduction="The body of `POST …/schema-changes` and of `POST …/schema-changes/validate`. The guide is "
            "[schema changes](../../guides/schema-changes.md).",
            roots=(SchemaChanges,),
            examples={"Every change, of the table `shop.orders`": examples.CHANGES},
        ),
        DeclarationPage(
            stem="definition-files",
            title="Definition files",
            introduction="YAML or JSON documents that declare tables and streams by name, for "
            "[`braid apply`](../../guides/command-line.md#declare-in-files) and "
            "[`braid test`](../../guides/table-tests.md): a table with its streams, or each by itself with its `kind`. "
            "`schemas/json` has the JSON Schemas for editors, `schemas/examples` has complete files.",
            roots=(DefinitionFile, TableDeclaration, StreamDeclaration),
            examples={
                "`shop.visits`": examples.VISITS,
                "A table by itself": examples.TABLE_BY_ITSELF,
                "A stream by itself": examples.STREAM_BY_ITSELF,
            },
        ),
    )


ROOTS = tuple(root for one in _pages() for root in one.roots)
"""The declarations of all pages."""


def declaration_pages() -> dict[str, str]:
    """Return the pages and their index, by path."""
    pages = _pages()
    values = field_examples(list(examples.declared()))
    texts = {f"{FOLDER}/README.md": _index(pages), f"{FOLDER}/cluster-file.md": cluster_file_page()}
    for one in pages:
        links = declaration_links(own=one.stem)
        sections = [schema_section(schema, links, values) for schema in _described()[one.stem]]
        texts[f"{FOLDER}/{one.stem}.md"] = page(
            one.title, one.introduction, *sections, one.changes, _examples(one)
        )
    return texts


def declaration_links(*, own: str | None = None, folder: str = "") -> dict[str, str]:
    """Return Markdown links to the sections of all contracts, by name.

    Args:
        own: The stem of the page that has the links; None: another page.
        folder: The way from that page to the folder of the declarations, with a slash at its end.
    """
    return {
        schema.name: f"[{schema.title}]({'' if stem == own else f'{folder}{stem}.md'}#{schema.anchor})"
        for stem, schemas in _described().items()
        for schema in schemas
    }


@cache
def _described() -> dict[str, list[DescribedSchema]]:
    """Return what each page describes, by the page's stem."""
    described: dict[str, list[DescribedSchema]] = {}
    known: set[str] = set()
    for one in _pages():
        found = {schema.name: schema for root in one.roots for schema in described_schemas(root)}
        described[one.stem] = [schema for name, schema in found.items() if name not in known]
        known |= set(found)
    return described


def _examples(one: DeclarationPage) -> str | None:
    parts = (
        subsection(title, block(json.dumps(value, indent=2, ensure_ascii=False), "json"))
        for title, value in one.examples.items()
    )
    return section("Examples", *parts)


def _index(pages: tuple[DeclarationPage, ...]) -> str:
    lines = [f"[{one.title}]({one.stem}.md): {one.introduction}" for one in pages]
    return page(
        "Declarations",
        "Every field of every declaration: its values, its default, its meaning, and an example. A field without a "
        "default is required. Unknown fields are refused.",
        bullets(lines),
        "Operators declare Kafka clusters and schema registries in the [cluster file](cluster-file.md).",
    )
