"""The command line: `braid --help`.

| module | what |
|---|---|
| `main` | the program, and the commands that are not about one table |
| `table_cli` | the commands `braid table …` |
| `stream_cli`, `backfill`, `letters` | the commands `braid stream …`: backfills; dead letters, listed and replayed |
| `options`, `arguments`, `extras` | shared options; checks before a command starts, and the exit of a command that fails |
| `compaction`, `maintenance` | `compact`, `maintain` |
| `alter`, `alter_clauses` | `table alter`, and its clauses |
| `changes`, `inspection`, `export/` | `table changes`, `table inspect`, `table export` |
| `expiry`, `tags`, `rollback` | `table expire` and `consumer`, `table tag`, `table rollback` |
| `drop`, `orphans`, `rescale` | `table drop`, `table clean-orphans`, `table rescale` |
"""
