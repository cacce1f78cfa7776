"""`braid doctor`: checks of a deployment, of which each finding says what to do.

| module | what |
|---|---|
| `findings` | findings and their levels |
| `machine` | Python, packages, Java, the runner's jars, disks |
| `storage` | the warehouse: exclusive creation, its clock |
| `streams` | streams and compaction, from the statuses that the service answers |
| `stored_state` | the same statuses, and who has the streams, read from a warehouse |
| `kafka` | Kafka clusters, and the topics of streams |
| `report` | findings as text |
| `command` | the command: the checks of a service, or of a warehouse |
"""
