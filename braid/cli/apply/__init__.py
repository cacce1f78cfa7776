"""`braid apply`: tables and streams of a service are made to be as files declare them.

1. `braid.cli.declarations` checks each document of the files by itself.
2. `registered` reads what the service has.
3. `plan` compares both, with `differences` and `schema_changes`, and orders the steps; the service checks each of them.
4. `report` prints the plan.
5. `execution` carries it out, if it is confirmed.

| module | what |
|---|---|
| `registered` | registered tables and streams, from the service |
| `differences` | differences of two declarations, field by field |
| `schema_changes` | the schema changes that make one declaration of a table another |
| `pruning` | which streams are deleted because no file declares them |
| `plan` | the steps from what is registered to what is declared |
| `report` | the plan as text and as a document |
| `execution` | the steps, carried out over HTTP |
| `command` | the command: all of them, one after the other |
"""
