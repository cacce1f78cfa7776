"""Avro: container files, their schemas, and the binary encoding of rows and columns.

| modules | what |
|---|---|
| `container`, `codecs` | container files, and the compression of their blocks |
| `binary` | the encoding of single values |
| `schemas`, `resolution` | schemas of metadata files, and files read under another schema than their own |
| `types` | the schema of a data file |
| `columns`, `block_decoder` | data files: columns encoded, and blocks decoded to columns |

The reader and the writer of data files are in `lake/files/avro`.
"""
