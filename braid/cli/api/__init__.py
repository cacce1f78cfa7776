"""Commands against a service: what `braid table`, `braid stream` and `braid row` do over HTTP, by `braid.client`.

| module | what |
|---|---|
| `connection` | the client of a command; the exit of a command that the service refuses |
| `tables`, `streams` | the answers about tables and streams, as text |
| `verbs`, `waiting` | lifecycle verbs, and the wait until a stream has a state |
| `pushes` | records that are sent to the topic of a stream |
| `dead_letters`, `offsets` | dead letters and positions of streams |
| `keys` | keys of rows as arguments |
| `rows`, `explanation_text` | rows, and why they have their values, as text |
| `suppositions` | the records of `row what-if` and `row without` |
"""
