"""Logic of the routes, without HTTP.

| module | what |
|---|---|
| `row_request`, `row_lookup`, `row_status` | what a request for a row asks; rows by their keys; the status of a row by sequence group |
| `read_after`, `push` | tokens of pushed records; checks and answers of pushes |
| `record_outcomes`, `record_batches` | what has become of pushed records in their row; the micro-batch that has read a record |
| `row_pages`, `row_pages_token` | pages of rows; the position between two pages |
| `group_states`, `completeness` | the states of many rows, and their counts |
| `table_tests/` | runs of the tests of a table |
| `index_lookup` | rows by the columns of lookup indexes |
| `view_lookup` | rows of feature views by their keys |
| `row_explanation`, `row_versions` | why a row has its values; the streams that have written its versions |
| `raw_records` | the records of topics that a row comes from, as Kafka has them |
| `row_hypotheses`, `left_out_records` | rows as they would be with one more record, or without some |
| `read_at_parameters` | the query parameters that name a state of the table, or a bound of changes |
| `changes`, `changes_token`, `consumers` | pages of changes; the position between two pages; consumers of a table |
| `stream_status`, `backfill_status`, `newest_commit` | the status of a stream and its backfills; its newest commit |
| `table_history` | samples of streams and tables from the reports of runners |
| `batch_verbs` | lifecycle verbs for many streams at once |
| `declaration_imports` | imports of declarations, with the outcome for each |
| `stream_offsets` | the position of a stream, and the bounds of its topic |
| `dead_letters` | numbers of a stream's dead letters, and pages of them that a runner reads |
| `stream_trial` | the trial of a stream with sample records |
| `table_view`, `schema_history`, `inspection`, `maintenance_status` | a table: declaration, schemas, metadata, compaction |
| `snapshot_resources` | snapshots, tags and compactions of a table, and pages of them |
| `rollback_plan` | the state that a rollback leads to, and what it would do |
| `operation_pages`, `operation_changes` | operations as they are answered, and pages of them; their cancellation and deletion |
| `aggregations`, `shown_limits` | the aggregate functions that columns may have; the bounds of requests |
| `audit_page` | pages of the audit log |
| `lists/` | lists of tables and streams over the whole warehouse |
| `page_token`, `confirmation` | tokens of pages; the parameter `confirm` |
"""
