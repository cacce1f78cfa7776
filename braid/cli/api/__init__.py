"""Commands against a service: what they do over HTTP, by `braid.client`.

| module | what |
|---|---|
| `connection` | the client of a command; the exit of a command that the service refuses |
| `tables`, `streams` | the answers about tables and streams, as text |
| `declarations`, `declaration_import` | the export of declarations; their import from files |
| `operations`, `operation_wait` | the answers about operations, as text; the wait for their end, with a progress bar |
| `inspection`, `changes`, `audit` | views of metadata, changes of rows and the audit log, page by page |
| `verbs`, `waiting` | lifecycle verbs; waits until a service reports a state |
| `pushes` | records that are sent to the topic of a stream |
| `dead_letters`, `offsets` | dead letters and positions of streams |
| `keys` | keys of rows as arguments |
| `rows`, `explanation_text` | rows, and why they have their values, as text |
| `schema_changes`, `validations` | schema changes; results of dry runs, as text |
| `runners` | the answers about runners, as text; the wait for a drain |
| `suppositions` | the records of `row what-if` and `row without` |
"""
