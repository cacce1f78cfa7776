"""The command line: `braid --help`.

`main`, `table_cli`, `stream_cli`, `explain_cli` and `token_cli` declare the commands with their arguments. They call the other modules of the
table below, or the service, the runner and the demo.

| module | what |
|---|---|
| `main` | the program, and the commands `service`, `runner`, `prepare`, `demo`, `test`, `compact`, `maintain` and `audit` |
| `table_cli` | the commands `braid table …` |
| `stream_cli` | the commands `braid stream …` |
| `explain_cli` | the commands `braid explain …` |
| `token_cli`, `tokens` | the commands `braid token …`, which make, list and revoke access tokens |
| `options`, `arguments`, `extras` | options of several commands; checks before a command starts, and the exit of a command that fails; the check of installed packages |
| `backfill`, `letters` | `stream backfill`; `stream dead-letters` and `replay` |
| `table_tests`, `definition_files` | `test`; the reader of its files |
| `compaction`, `maintenance` | `compact`, `maintain` |
| `alter`, `alter_clauses` | `table alter`; the parser of its clauses |
| `changes`, `inspection`, `export/` | `table changes`, `table inspect`, `table export` |
| `expiry`, `tags`, `rollback` | `table expire` and `consumer`, `table tag`, `table rollback` |
| `audit` | `audit`; the actor of commands, and entries of changes that commands make without the registry |
| `drop`, `orphans`, `rescale` | `table drop`, `table clean-orphans`, `table rescale` |
"""
