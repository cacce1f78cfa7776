"""Operations: long work on tables, carried out beside the answers to requests.

```
POST …/compactions ──► document ──► operation_pool, of any process ──► process ──► operation_executor ──► operation_work
```

| module | what |
|---|---|
| `operation_pool` | threads that look for operations, and give each to a process of its own |
| `operation_lease` | the lease of an operation, which the pool has as long as the process works |
| `operation_process` | this process, which ends with the service |
| `operation_executor` | one attempt: cancellation, retries, result |
| `operation_work` | the work of each kind, by the engine |
"""
