"""Placement of streams on runners: one document says which runner has which stream. Pure; `store` has its versions.

| module | what |
|---|---|
| `assignment` | the document: the runners that have joined, the runner of each stream, the runners that are drained |
| `admission` | which runner may have a stream, and why none has it |
| `assignment_plan` | the next assignment, from the current one |
| `needed_streams` | the streams that need a runner, from the documents of tables |
"""
