"""Serving of rows: the newest snapshot of each table in use, kept ready, and the answers to requests for rows.

From the top down; each imports only what is beside or below it:

| module | what |
|---|---|
| `row_answers` | answers to requests for one row, several rows, and the status of a row |
| `history` | samples of the last hours, for charts |
| `completeness_counts` | counts of tables' rows by their states, made in the background |
| `outcome_answers` | answers about pushed records: what has become of each in its row |
| `row_explainer` | explanations of rows, and rows as they would be |
| `index_answers` | answers by lookup indexes, which are built in the background |
| `snapshot_waits` | waits of requests for the state of a table that they demand |
| `followers` | the followers of the tables in use |
| `follower` | one table: looks for new snapshots, makes them ready, replaces what is served |
| `served_table` | what is served of one table: snapshot, lookup, declaration, and when it was verified |
"""
