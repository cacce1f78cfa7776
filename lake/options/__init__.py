"""The options of a table: declared once, parsed, and checked one by one.

| module | what |
|---|---|
| `table_options` | the options of a table as a whole, typed: `TableOptions` |
| `option_declaration` | the declaration of one option |
| `option_parsers` | text to typed values |
| `file_index_options` | options of file indexes, whose keys name columns |
| `option_keys` | the known keys, and the known key that a misspelt key probably means |

Every layer reads options, so this package imports nothing of the engine but its errors. Rules that combine an
option with other options or with columns are in `braid.lake.declaration`; options of single columns
(`fields.<column>.<option>`) are read in `braid.lake.merge`.
"""
