"""Chaos: three streams of one table while everything around them is killed, paused and refused, and what has to come of it.

| module | contents |
|---|---|
| `streams` | the table, its streams and their topics |
| `records` | records to send, from a seed, each with what has to become of it |
| `plan` | what is sent, killed, paused, declared, replayed and set back, step by step, from a seed |
| `model` | the rows that the table has to have |
| `commits` | what the snapshots of a table say about its streams |
| `accounts` | whether the commits cover every offset once, and twice only what was set back |
| `letters` | whether the dead letters are those of the accounts, byte for byte |
| `topics` | records sent to Kafka, and read back |
| `processes` | the processes of a run, and what is done to them |
| `control_plane` | requests to the service, repeated while it is away |
| `table_watch` | the table's commits, read before they expire |
| `run` | all of it together |

The model and the checks know nothing of the product but what its guides say: they read Kafka's records, headers and the
properties of snapshots themselves.
"""
