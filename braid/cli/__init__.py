"""The command line: `braid --help`.

Modules named `…_cli` declare the commands with their arguments. They call the other modules of the table below, or the service,
the runner and the demo.

| module | what |
|---|---|
| `main` | the program, and the commands that start processes or work on whole warehouses |
| `deployment_cli` | the commands about a deployment: `apply`, `export`, `import`, `watch`, `doctor`, `audit` |
| `operation_cli` | the commands `braid operation …` |
| `table_cli`, `table_service_cli`, `table_change_cli`, `table_work_cli` | the commands `braid table …`: `export`; those that use a service; `alter` and `rollback`; long work |
| `table_run` | the run of a command about one table: on a warehouse, or as an operation of a service |
| `consumer_cli`, `consumers` | the commands `braid table consumer …` |
| `tag_cli`, `tags` | the commands `braid table tag …` |
| `stream_cli`, `stream_service_cli` | the commands `braid stream …` |
| `row_cli` | the commands `braid row …` |
| `runner_cli` | the commands `braid runner …` |
| `explain_cli` | the commands `braid explain …` |
| `token_cli`, `tokens` | the commands `braid token …`, which make, list and revoke access tokens |
| `options`, `output` | options of several commands; the output as text, JSON or YAML |
| `arguments`, `confirmation`, `extras` | checks before a command starts: of arguments, by a person, of installed packages |
| `exits` | exit statuses by what the caller has to do |
| `api/` | what commands do over HTTP |
| `backfill` | `stream backfill` |
| `letters`, `letter_arguments` | `stream dead-letters` and `replay` without a service; selections of dead letters, and letters as text |
| `documents`, `declarations` | documents of YAML and JSON files; the tables and streams that they declare |
| `apply/`, `watch/`, `doctor/` | `apply`, `watch`, `doctor` |
| `prepare` | `prepare` |
| `spark_target`, `spark_pool`, `submitted` | the options of a Spark cluster; the executors that compact; whether `spark-submit` has started the process |
| `completion`, `json_schemas` | `completion`, `schema` |
| `table_tests`, `definition_files` | `test`; the reader of its files |
| `compaction`, `maintenance` | `compact`, `maintain` |
| `alter`, `alter_arguments`, `alter_clauses` | `table alter` with a warehouse; its arguments; the parser of its clauses |
| `changes`, `inspection`, `export/` | `table changes`, `table inspect`, `table export` |
| `expiry`, `rollback` | `table expire`, `table rollback` |
| `audit` | `audit`; the actor of commands, and entries of changes that commands make without the registry |
| `drop`, `orphans`, `rescale` | `table drop`, `table clean-orphans`, `table rescale` |
"""
