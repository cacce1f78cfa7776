"""Rules of schema changes: each allows some changes and refuses others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from braid.lake.errors import InvalidRequest
from braid.lake.evolution.change_schema import change_schema
from braid.lake.evolution.option_changes import set_option
from braid.lake.evolution.schema_changes import (
    AddColumn,
    DropColumn,
    DropPrimaryKey,
    Position,
    PositionKind,
    RemoveOption,
    RenameColumn,
    SchemaChange,
    SetOption,
    UpdateColumnComment,
    UpdateColumnDefault,
    UpdateColumnNullability,
    UpdateColumnPosition,
    UpdateColumnType,
    UpdateComment,
)
from braid.lake.format.data_types import (
    DataField,
    DataType,
    assign_field_ids,
    highest_field_id,
)
from braid.lake.format.schema import TableSchema
from braid.lake.format.type_codec import parse_type

COLUMNS = (
    ("k", "INT NOT NULL"),
    ("d", "STRING NOT NULL"),
    ("v", "INT"),
    ("n", "INT NOT NULL"),
    ("s", "STRING"),
    ("r", "ROW<a INT, b ROW<c INT, e STRING>>"),
    ("l", "ARRAY<ROW<x INT>>"),
    ("m", "MAP<STRING, INT>"),
)


def given_schema(
    columns: Sequence[tuple[str, str]] = COLUMNS,
    *,
    primary_key: Sequence[str] = ("k", "d"),
    partition: Sequence[str] = ("d",),
    options: Mapping[str, str] | None = None,
) -> TableSchema:
    fields = assign_field_ids([DataField(name=name, type=parse_type(t)) for name, t in columns])
    return TableSchema(
        id=3,
        fields=fields,
        highest_field_id=highest_field_id(fields),
        partition_keys=tuple(partition),
        primary_keys=tuple(primary_key),
        options={"bucket": "1", **(options or {})},
    )


NAMED = (
    ("k", "INT NOT NULL"),
    ("g", "INT"),
    ("v", "INT"),
    ("n", "INT"),
    ("s", "STRING"),
    ("l", "ARRAY<ROW<x INT, y INT>>"),
)
"""Columns that options of `named_schema` name, and `n`, which none does."""
GROUP = {"merge-engine": "partial-update", "fields.g.sequence-group": "v"}
AGGREGATION = {"merge-engine": "aggregation", "fields.default-aggregate-function": "last_value"}
NESTED = {**AGGREGATION, "fields.l.aggregate-function": "nested_update"}
FIXED = frozenset(
    [
        "type",
        "bucket-key",
        "bucket-function.type",
        "data-file.path-directory",
        "merge-engine",
        "sequence.snapshot-ordering",
        "aggregation.remove-record-on-delete",
        "partial-update.remove-record-on-delete",
        "partial-update.remove-record-on-sequence-group",
        "rowkind.field",
        "primary-key",
        "primary-key.nullable",
        "partition",
        "dynamic-bucket.initial-buckets",
        "force-lookup",
        "row-tracking.enabled",
        "data-evolution.enabled",
        "index-file-in-data-file-dir",
        "blob-field",
        "blob-descriptor-field",
        "blob-view-field",
        "pk-clustering-override",
    ]
)


def named_schema(options: Mapping[str, str]) -> TableSchema:
    return given_schema(NAMED, primary_key=["k"], partition=[], options=options)


def changed(schema: TableSchema, *changes: SchemaChange, has_snapshots: bool = True) -> TableSchema:
    return change_schema(schema, changes, has_snapshots=has_snapshots, now_ms=77)


def refused(
    schema: TableSchema, *changes: SchemaChange, has_snapshots: bool = True
) -> list[tuple[str, str]]:
    """Return field and message of each problem."""
    with pytest.raises(InvalidRequest) as error:
        changed(schema, *changes, has_snapshots=has_snapshots)
    return [(problem.field, problem.message) for problem in error.value.problems]


def names(schema: TableSchema) -> str:
    return " ".join(schema.field_names)


def type_of(schema: TableSchema, *path: str) -> DataType:
    fields, found = schema.fields, None
    for name in path:
        if name in ("element", "value"):
            assert found is not None
            found = found.element or found.value
        else:
            found = next(field.type for field in fields if field.name == name)
        assert found is not None
        fields = found.fields
    assert found is not None
    return found


INT, BIGINT, STRING = parse_type("INT"), parse_type("BIGINT"), parse_type("STRING")


def test_a_change_makes_the_next_schema() -> None:
    new = changed(given_schema(), UpdateComment(comment="wide rows"))

    assert (new.id, new.comment, new.time_millis) == (4, "wide rows", 77)
    assert changed(new, UpdateComment(comment=None)).comment is None


def test_changes_without_an_effect_make_no_schema() -> None:
    schema = given_schema()

    assert changed(schema, SetOption(key="bucket", value="1")) is schema
    assert changed(schema, UpdateColumnNullability(path=("v",), nullable=True)) is schema
    assert changed(schema) is schema


def test_all_problems_are_collected_and_nothing_is_changed() -> None:
    found = refused(
        given_schema(),
        DropColumn(path=("k",)),
        UpdateComment(comment="fine"),
        RenameColumn(path=("nope",), name="x"),
        SetOption(key="merge-engine", value="aggregation"),
    )

    assert [field for field, _ in found] == [
        "changes[0].name",
        "changes[2].name",
        "changes[3].options.merge-engine",
    ]


def test_later_changes_see_earlier_ones() -> None:
    new = changed(
        given_schema(),
        RenameColumn(path=("v",), name="w"),
        AddColumn(path=("v",), type=STRING),
        DropColumn(path=("w",)),
    )

    assert names(new) == "k d n s r l m v"
    assert new.field("v").id == new.highest_field_id == given_schema().highest_field_id + 1


class TestAddColumn:
    @pytest.mark.parametrize(
        ("position", "expected"),
        [
            (None, "k d v n s r l m z"),
            (Position(kind=PositionKind.LAST), "k d v n s r l m z"),
            (Position(kind=PositionKind.FIRST), "z k d v n s r l m"),
            (Position(kind=PositionKind.AFTER, neighbour="k"), "k z d v n s r l m"),
            (Position(kind=PositionKind.BEFORE, neighbour="k"), "z k d v n s r l m"),
        ],
    )
    def test_a_column_is_added_at_its_position(
        self, position: Position | None, expected: str
    ) -> None:
        new = changed(given_schema(), AddColumn(path=("z",), type=INT, position=position))

        assert names(new) == expected

    def test_an_option_puts_a_new_column_before_the_partition_columns(self) -> None:
        schema = given_schema(options={"add-column-before-partition": "true"})

        assert names(changed(schema, AddColumn(path=("z",), type=INT))) == "k z d v n s r l m"
        nested = changed(schema, AddColumn(path=("r", "z"), type=INT))
        assert [field.name for field in type_of(nested, "r").fields] == ["a", "b", "z"]

    def test_ids_are_above_all_that_ever_were(self) -> None:
        schema = replace(given_schema(), highest_field_id=50)
        row = parse_type("ROW<x INT, y ROW<z INT>>")

        new = changed(schema, AddColumn(path=("w",), type=row))

        x, y = new.field("w").type.fields
        assert (new.field("w").id, x.id, y.type.fields[0].id, y.id) == (51, 52, 53, 54)
        assert new.highest_field_id == 54

    @pytest.mark.parametrize(
        "path", [("r", "z"), ("r", "b", "z"), ("l", "element", "z")], ids=".".join
    )
    def test_it_may_be_nested(self, path: tuple[str, ...]) -> None:
        new = changed(given_schema(), AddColumn(path=path, type=INT, description="deep"))

        added = type_of(new, *path[:-1]).fields[-1]
        assert (added.name, added.id, added.description) == ("z", new.highest_field_id, "deep")

    @pytest.mark.parametrize(
        ("change", "field"),
        [
            (AddColumn(path=("v",), type=INT), "name"),
            (AddColumn(path=("r", "a"), type=INT), "name"),
            (AddColumn(path=("z",), type=INT.with_nullable(False)), "type"),
            (AddColumn(path=("r", "z"), type=INT.with_nullable(False)), "type"),
            (AddColumn(path=("nope", "z"), type=INT), "name"),
            (AddColumn(path=("v", "z"), type=INT), "name"),
            (AddColumn(path=("m", "key", "z"), type=INT), "name"),
            (
                AddColumn(
                    path=("z",),
                    type=INT,
                    position=Position(kind=PositionKind.AFTER, neighbour="nope"),
                ),
                "name",
            ),
        ],
    )
    def test_refused(self, change: AddColumn, field: str) -> None:
        assert [found for found, _ in refused(given_schema(), change)] == [f"changes[0].{field}"]

    def test_a_neighbour_that_is_not_there_is_refused_on_either_side(self) -> None:
        before = Position(kind=PositionKind.BEFORE, neighbour="nope")

        assert refused(given_schema(), AddColumn(path=("z",), type=INT, position=before))
        nested = AddColumn(path=("r", "z"), type=INT, position=before)
        assert refused(given_schema(), nested)

    def test_a_name_of_the_system_is_refused(self) -> None:
        assert refused(given_schema(), AddColumn(path=("_SEQUENCE_NUMBER",), type=INT))


class TestRenameColumn:
    def test_the_id_stays(self) -> None:
        schema = given_schema()
        new = changed(schema, RenameColumn(path=("v",), name="w"))

        assert new.field("w") == replace(schema.field("v"), name="w")

    def test_a_key_column_is_renamed_in_the_key(self) -> None:
        schema = given_schema(options={"bucket-key": "k"})

        new = changed(schema, RenameColumn(path=("k",), name="kk"))

        assert (new.primary_keys, new.options["bucket-key"]) == (("kk", "d"), "kk")

    def test_nested_fields_are_renamed_alone(self) -> None:
        schema = given_schema(options={"sequence.field": "v"})

        new = changed(schema, RenameColumn(path=("r", "b", "c"), name="v"))

        assert [field.name for field in type_of(new, "r", "b").fields] == ["v", "e"]
        assert new.options == schema.options

    def test_options_follow(self) -> None:
        schema = given_schema(
            (("k", "INT NOT NULL"), ("a", "INT"), ("g", "INT"), ("h", "INT"), ("v", "INT")),
            primary_key=["k"],
            partition=[],
            options={
                "merge-engine": "partial-update",
                "fields.g,h.sequence-group": "a,v",
                "fields.v.aggregate-function": "sum",
                "fields.v.ignore-retract": "true",
            },
        )

        new = changed(
            schema,
            RenameColumn(path=("v",), name="w"),
            RenameColumn(path=("h",), name="i"),
        )

        assert new.options == {
            "bucket": "1",
            "merge-engine": "partial-update",
            "fields.g,i.sequence-group": "a,w",
            "fields.w.aggregate-function": "sum",
            "fields.w.ignore-retract": "true",
        }

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            ({"sequence.field": "g,s"}, {"sequence.field": "g,z"}),
            (
                {**AGGREGATION, "fields.s.aggregate-function": "listagg"},
                {**AGGREGATION, "fields.z.aggregate-function": "listagg"},
            ),
            (
                {
                    **AGGREGATION,
                    "fields.s.aggregate-function": "listagg",
                    "fields.s.distinct": "true",
                    "fields.s.list-agg-delimiter": ";",
                },
                {
                    **AGGREGATION,
                    "fields.z.aggregate-function": "listagg",
                    "fields.z.distinct": "true",
                    "fields.z.list-agg-delimiter": ";",
                },
            ),
            (
                {
                    "changelog-producer": "lookup",
                    "changelog-producer.row-deduplicate": "true",
                    "changelog-producer.row-deduplicate-ignore-fields": "s,g",
                },
                {
                    "changelog-producer": "lookup",
                    "changelog-producer.row-deduplicate": "true",
                    "changelog-producer.row-deduplicate-ignore-fields": "z,g",
                },
            ),
        ],
        ids=["sequence", "function", "delimiter", "ignored"],
    )
    def test_more_options_follow(
        self, given: Mapping[str, str], expected: Mapping[str, str]
    ) -> None:
        new = changed(named_schema(given), RenameColumn(path=("s",), name="z"))

        assert new.options == {"bucket": "1", **expected}

    def test_the_key_of_nested_rows_follows_its_column(self) -> None:
        schema = named_schema({**NESTED, "fields.l.nested-key": "x"})

        new = changed(schema, RenameColumn(path=("l",), name="z"))

        assert new.options["fields.z.nested-key"] == "x"
        inner = RenameColumn(path=("l", "element", "x"), name="z")
        assert [field for field, _ in refused(schema, inner)] == ["fields.l.nested-key"]

    @pytest.mark.parametrize(
        ("column", "options", "field"),
        [
            ("s", {"rowkind.field": "s"}, "rowkind.field"),
            ("g", {"record-level.time-field": "g"}, "record-level.time-field"),
            ("l", {**NESTED, "fields.l.count-limit": "3"}, "fields.l.count-limit"),
            (
                "l",
                {**NESTED, "fields.l.nested-key": "x", "fields.l.nested-sequence-field": "y"},
                "fields.l.nested-sequence-field",
            ),
            (
                "l",
                {
                    **NESTED,
                    "fields.l.nested-key": "x",
                    "fields.l.nested-key-null-strategy": "ignore",
                },
                "fields.l.nested-key-null-strategy",
            ),
            (
                "g",
                {**GROUP, "partial-update.remove-record-on-sequence-group": "g"},
                "partial-update.remove-record-on-sequence-group",
            ),
            ("s", {"sequence.field": "g, s"}, "sequence.field"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_options_that_the_reference_leaves_behind(
        self, column: str, options: Mapping[str, str], field: str
    ) -> None:
        rename = RenameColumn(path=(column,), name="z")

        assert field in {found for found, _ in refused(named_schema(options), rename)}

    def test_other_columns_may_be_renamed_beside_keys(self) -> None:
        schema = named_schema({"rowkind.field": "s", "record-level.time-field": "g"})

        new = changed(schema, RenameColumn(path=("n",), name="z"))

        assert new.options == schema.options

    @pytest.mark.parametrize(
        "change",
        [
            RenameColumn(path=("d",), name="dd"),
            RenameColumn(path=("v",), name="s"),
            RenameColumn(path=("r", "a"), name="b"),
            RenameColumn(path=("nope",), name="z"),
            RenameColumn(path=("v",), name=""),
        ],
    )
    def test_refused(self, change: RenameColumn) -> None:
        assert len(refused(given_schema(), change)) == 1


class TestDropColumn:
    @pytest.mark.parametrize("path", [("v",), ("r", "a"), ("r", "b", "c")], ids=".".join)
    def test_a_dropped_column_keeps_its_id_taken(self, path: tuple[str, ...]) -> None:
        schema = given_schema()
        new = changed(schema, DropColumn(path=path))

        assert new.highest_field_id == schema.highest_field_id
        if len(path) == 1:
            assert names(new) == "k d n s r l m"
        else:
            left = [field.name for field in type_of(new, *path[:-1]).fields]
            assert left == ["b"] if path[-1] == "a" else left == ["e"]

    @pytest.mark.parametrize(
        "change",
        [
            DropColumn(path=("k",)),
            DropColumn(path=("d",)),
            DropColumn(path=("nope",)),
            DropColumn(path=("l", "element", "x")),
        ],
    )
    def test_refused(self, change: DropColumn) -> None:
        assert len(refused(given_schema(), change)) == 1

    @pytest.mark.parametrize(
        ("column", "options", "field"),
        [
            ("g", {"sequence.field": "g"}, "sequence.field"),
            ("s", {"rowkind.field": "s"}, "rowkind.field"),
            ("g", {"record-level.time-field": "g"}, "record-level.time-field"),
            ("g", GROUP, "fields.g.sequence-group"),
            ("v", GROUP, "fields.g.sequence-group"),
            (
                "v",
                {**AGGREGATION, "fields.v.aggregate-function": "sum"},
                "fields.v.aggregate-function",
            ),
            (
                "v",
                {**AGGREGATION, "fields.v.ignore-retract": "true"},
                "fields.v.ignore-retract",
            ),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_one_that_an_option_names_is_refused(
        self, column: str, options: Mapping[str, str], field: str
    ) -> None:
        schema = named_schema(options)

        assert field in {found for found, _ in refused(schema, DropColumn(path=(column,)))}
        assert "n" not in changed(schema, DropColumn(path=("n",))).field_names


class TestUpdateColumnType:
    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            (("v",), "BIGINT"),
            (("v",), "STRING"),
            (("v",), "TIMESTAMP(3)"),
            (("s",), "INT"),
            (("r", "a"), "BIGINT"),
            (("l", "element", "x"), "STRING"),
            (("m", "value"), "DOUBLE"),
            (("r",), "STRING"),
        ],
    )
    def test_types_that_can_be_cast_may_change(self, path: tuple[str, ...], kind: str) -> None:
        new = changed(given_schema(), UpdateColumnType(path=path, type=parse_type(kind)))

        assert type_of(new, *path) == parse_type(kind)

    def test_nullability(self) -> None:
        schema, path = given_schema(), ("n",)
        not_null = BIGINT.with_nullable(False)

        assert type_of(changed(schema, UpdateColumnType(path=path, type=BIGINT)), "n").nullable
        kept = UpdateColumnType(path=path, type=BIGINT, keep_nullability=True)
        assert type_of(changed(schema, kept), "n") == not_null
        assert refused(schema, UpdateColumnType(path=("v",), type=not_null))
        allowing = given_schema(options={"alter-column-null-to-not-null.disabled": "false"})
        new = changed(allowing, UpdateColumnType(path=("v",), type=not_null))
        assert type_of(new, "v") == not_null

    def test_a_default_has_to_be_a_value_of_the_new_type(self) -> None:
        to_int = UpdateColumnType(path=("s",), type=INT)

        number = UpdateColumnDefault(path=("s",), default_value="7")
        assert type_of(changed(given_schema(), number, to_int), "s") == INT
        text = UpdateColumnDefault(path=("s",), default_value="seven")
        assert refused(given_schema(), text, to_int) == [
            ("columns", "the default of column `s` is not a value of type INT")
        ]
        none = UpdateColumnDefault(path=("s",), default_value=None)
        assert type_of(changed(given_schema(), text, none, to_int), "s") == INT

    def test_explicit_casts_can_be_forbidden(self) -> None:
        schema = given_schema(options={"disable-explicit-type-casting": "true"})

        assert type_of(changed(schema, UpdateColumnType(path=("v",), type=BIGINT)), "v") == BIGINT
        assert refused(schema, UpdateColumnType(path=("v",), type=parse_type("SMALLINT")))

    @pytest.mark.parametrize(
        ("path", "kind"),
        [
            (("k",), "BIGINT"),
            (("d",), "INT"),
            (("v",), "DATE"),
            (("v",), "BYTES"),
            (("v",), "ARRAY<INT>"),
            (("r",), "ROW<a BIGINT>"),
            (("l",), "ARRAY<INT>"),
            (("m", "key"), "BYTES"),
            (("nope",), "INT"),
        ],
    )
    def test_refused(self, path: tuple[str, ...], kind: str) -> None:
        change = UpdateColumnType(path=path, type=parse_type(kind))

        assert len(refused(given_schema(), change)) == 1


class TestUpdateColumnNullability:
    def test_nulls_may_be_let_in(self) -> None:
        new = changed(given_schema(), UpdateColumnNullability(path=("n",), nullable=True))

        assert type_of(new, "n") == INT

    def test_and_be_kept_out_if_the_table_allows_it(self) -> None:
        change = UpdateColumnNullability(path=("v",), nullable=False)

        assert refused(given_schema(), change)
        allowing = given_schema(options={"alter-column-null-to-not-null.disabled": "false"})
        assert not type_of(changed(allowing, change), "v").nullable

    def test_nested_fields_as_columns(self) -> None:
        change = UpdateColumnNullability(path=("r", "a"), nullable=False)

        assert refused(given_schema(), change)
        allowing = given_schema(options={"alter-column-null-to-not-null.disabled": "false"})
        new = changed(allowing, change)
        assert not type_of(new, "r", "a").nullable
        again = UpdateColumnNullability(path=("r", "a"), nullable=True)
        assert type_of(changed(new, again), "r", "a").nullable

    @pytest.mark.parametrize("name", ["k", "d", "nope"])
    def test_a_key_is_never_null(self, name: str) -> None:
        assert refused(given_schema(), UpdateColumnNullability(path=(name,), nullable=True))


class TestOtherColumnChanges:
    def test_comment(self) -> None:
        new = changed(given_schema(), UpdateColumnComment(path=("r", "a"), description="first"))

        assert type_of(new, "r").fields[0].description == "first"
        none = changed(new, UpdateColumnComment(path=("r", "a"), description=None))
        assert type_of(none, "r").fields[0].description is None
        assert refused(given_schema(), UpdateColumnComment(path=("nope",), description="x"))

    def test_default_value(self) -> None:
        new = changed(given_schema(), UpdateColumnDefault(path=("v",), default_value="7"))

        assert new.field("v").default_value == "7"
        none = changed(new, UpdateColumnDefault(path=("v",), default_value=None))
        assert none.field("v").default_value is None
        assert refused(given_schema(), UpdateColumnDefault(path=("nope",), default_value="7"))
        assert refused(given_schema(), UpdateColumnDefault(path=("v",), default_value="seven"))

    @pytest.mark.parametrize(
        ("position", "expected"),
        [
            (Position(kind=PositionKind.FIRST), "v k d n s r l m"),
            (Position(kind=PositionKind.LAST), "k d n s r l m v"),
            (Position(kind=PositionKind.AFTER, neighbour="s"), "k d n s v r l m"),
            (Position(kind=PositionKind.BEFORE, neighbour="k"), "v k d n s r l m"),
        ],
    )
    def test_position(self, position: Position, expected: str) -> None:
        new = changed(given_schema(), UpdateColumnPosition(name="v", position=position))

        assert names(new) == expected

    @pytest.mark.parametrize(("name", "neighbour"), [("v", "v"), ("nope", "v"), ("v", "nope")])
    def test_no_position(self, name: str, neighbour: str) -> None:
        position = Position(kind=PositionKind.AFTER, neighbour=neighbour)

        assert refused(given_schema(), UpdateColumnPosition(name=name, position=position))


class TestOptions:
    def test_an_option_is_set_and_removed(self) -> None:
        schema = changed(given_schema(), SetOption(key="num-levels", value="4"))

        assert schema.options["num-levels"] == "4"
        again = changed(schema, SetOption(key="num-levels", value="5"))
        assert again.options["num-levels"] == "5"
        assert "num-levels" not in changed(schema, RemoveOption(key="num-levels")).options
        same = given_schema()
        assert changed(same, RemoveOption(key="num-levels")) is same

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("merge-engine", "aggregation"),
            ("bucket-key", "k"),
            ("bucket", "2"),
            ("bucket", "-1"),
            ("rowkind.field", "s"),
            ("sequence.snapshot-ordering", "true"),
            ("force-lookup", "true"),
            ("deletion-vectors.enabled", "true"),
            ("primary-key", "k"),
            ("partition", "v"),
            ("type", "format-table"),
        ],
    )
    def test_options_that_the_first_snapshot_fixes(self, key: str, value: str) -> None:
        found = refused(given_schema(), SetOption(key=key, value=value))

        assert [field for field, _ in found] == [f"changes[0].options.{key}"]

    @pytest.mark.parametrize(
        ("key", "value"), [("merge-engine", "first-row"), ("bucket", "2"), ("force-lookup", "true")]
    )
    def test_but_not_while_the_table_is_empty(self, key: str, value: str) -> None:
        new = changed(given_schema(), SetOption(key=key, value=value), has_snapshots=False)

        assert new.options[key] == value

    def test_the_value_in_force_is_no_change(self) -> None:
        schema = given_schema()

        same = changed(schema, SetOption(key="merge-engine", value="deduplicate"))
        assert same.options["merge-engine"] == "deduplicate"
        assert changed(schema, SetOption(key="primary-key", value="k,d")) is schema
        assert changed(schema, SetOption(key="partition", value="d")) is schema
        assert changed(schema, SetOption(key="type", value="TABLE")) is schema

    @pytest.mark.parametrize("key", sorted(FIXED))
    def test_every_key_that_the_format_fixes_is_fixed(self, key: str) -> None:
        found = refused(given_schema(), SetOption(key=key, value="zz"))

        assert [field for field, _ in found] == [f"changes[0].options.{key}"]
        if key not in ("primary-key", "partition", "type"):
            same = given_schema(options={key: "zz"})
            assert set_option(same, SetOption(key=key, value="zz"), has_snapshots=True) == same
            empty = set_option(given_schema(), SetOption(key=key, value="zz"), has_snapshots=False)
            assert empty.options[key] == "zz"

    @pytest.mark.parametrize("key", ["bucket", "merge-engine", "force-lookup"])
    def test_fixed_options_are_not_removed(self, key: str) -> None:
        schema = given_schema(options={"merge-engine": "deduplicate", "force-lookup": "true"})

        assert refused(schema, RemoveOption(key=key))
        assert key not in changed(schema, RemoveOption(key=key), has_snapshots=False).options

    def test_the_kind_of_a_table_is_never_removed(self) -> None:
        assert refused(given_schema(), RemoveOption(key="type"), has_snapshots=False)

    @pytest.mark.parametrize("value", ["1", "-1"])
    def test_buckets_that_are_made_as_needed_stay_so(self, value: str) -> None:
        schema = given_schema(options={"bucket": "-1"})
        change = SetOption(key="bucket", value=value)

        if value == "-1":
            assert changed(schema, change) is schema
        else:
            assert refused(schema, change)
            assert changed(schema, change, has_snapshots=False).options["bucket"] == value

    def test_clustering_columns_stay_where_they_order_the_files(self) -> None:
        options = {"clustering.columns": "v"}
        ordered = given_schema(options={**options, "pk-clustering-override": "true"})
        change = SetOption(key="clustering.columns", value="s")

        assert refused(ordered, change)
        assert refused(ordered, RemoveOption(key="clustering.columns"))
        for schema, has_snapshots in ((given_schema(options=options), True), (ordered, False)):
            new = changed(schema, change, has_snapshots=has_snapshots)
            assert new.options["clustering.columns"] == "s"

    @pytest.mark.parametrize("key", ["ignore-delete", "ignore-update-before"])
    def test_ignoring_records_is_never_switched_off(self, key: str) -> None:
        schema = given_schema(options={key: "true"})

        assert refused(schema, SetOption(key=key, value="false"))
        on = changed(given_schema(), SetOption(key=key, value="true"))
        assert on.options[key] == "true"

    @pytest.mark.parametrize("key", ["ignore-delete", "ignore-update-before"])
    def test_the_option_to_ignore_records_can_be_removed(self, key: str) -> None:
        """As in the reference, which compares values only where an option is set."""
        schema = given_schema(options={key: "true"})

        assert key not in changed(schema, RemoveOption(key=key)).options

    def test_only_the_main_key_of_ignored_deletes_is_looked_at(self) -> None:
        key = "deduplicate.ignore-delete"
        schema = given_schema(options={key: "true"})

        assert changed(schema, SetOption(key=key, value="false")).options[key] == "false"

    def test_deletion_vectors_change_only_if_the_table_allows_it(self) -> None:
        schema = given_schema(options={"deletion-vectors.modifiable": "true"})

        new = changed(schema, SetOption(key="deletion-vectors.enabled", value="true"))
        assert new.table_options.deletion_vectors_enabled
        assert not changed(
            new, RemoveOption(key="deletion-vectors.enabled")
        ).table_options.deletion_vectors_enabled
        on = given_schema(options={"deletion-vectors.enabled": "true"})
        assert refused(on, RemoveOption(key="deletion-vectors.enabled"))
        assert refused(on, SetOption(key="deletion-vectors.enabled", value="false"))
        off = given_schema(options={"deletion-vectors.enabled": "false"})
        assert changed(off, RemoveOption(key="deletion-vectors.enabled")).id == off.id + 1

    def test_the_result_is_judged_as_a_new_table_is(self) -> None:
        schema = given_schema(
            (("k", "INT NOT NULL"), ("v", "INT"), ("g", "INT")),
            primary_key=["k"],
            partition=[],
            options={
                "merge-engine": "partial-update",
                "fields.g.sequence-group": "v",
                "fields.v.aggregate-function": "sum",
            },
        )

        assert refused(schema, RemoveOption(key="fields.g.sequence-group"))
        assert refused(schema, UpdateColumnType(path=("v",), type=STRING))
        assert refused(schema, SetOption(key="num-levels", value="many"))


def test_a_primary_key_is_dropped_only_from_an_empty_table() -> None:
    assert [field for field, _ in refused(given_schema(), DropPrimaryKey())] == ["changes[0]"]
    # The change is made, and its result is refused: the engine has no tables without a key.
    found = refused(given_schema(), DropPrimaryKey(), has_snapshots=False)
    assert [field for field, _ in found] == ["primary_key"]
