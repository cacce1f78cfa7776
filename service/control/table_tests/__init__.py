"""Table tests: the records of each test are read and merged by the code of running streams, in a table in memory.

From the top down; each imports only what is beside or below it:

| module | what |
|---|---|
| `required_tests` | the problems of a declaration whose tests fail |
| `table_run` | the tests of a table, one after another, in bounded time |
| `case_run` | one test: table, records, rows, differences |
| `case_differences` | what is found, compared with what a test expects |
| `given_records` | places and times of the records that do not say them; the batches in which they are read |
"""
