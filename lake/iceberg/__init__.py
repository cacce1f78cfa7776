"""Iceberg metadata of a table's compacted files, so that Iceberg readers read them without a copy.

| modules | what |
|---|---|
| `field_types`, `table_columns`, `single_values` | columns, types and values in Iceberg's terms; pure |
| `manifest_entries`, `manifest_schemas`, `avro_files` | manifests and manifest lists, as values and as Avro files; pure |
| `data_files` | a data file of the table as an entry of a manifest; pure |
| `metadata_document` | the metadata file of a table, as JSON; pure |
| `metadata_directory` | names and places of the files; reads and writes them |
| `manifest_changes` | which manifests are written anew for added and removed files |
| `publication` | brings the metadata to the state of the newest snapshot |
| `referenced_files` | files that the metadata reference, for the search for orphans |

The files are Paimon's: it publishes the same metadata, under the same names and options (`metadata.iceberg.*`).

Source:
    Iceberg's table specification, version 2; decision 0087.
"""
