"""Operations: long work on tables, carried out beside the answers to requests.

```
POST …/compactions ──► document ──► operation_pool, of any process ──► process ──► operation_executor ──► operation_work
```

| module | what |
|---|---|
| `operation_pool` | threads that look for operations, and give each to a process of its own |
| `operation_process` | this process, which ends with the service |
| `operation_executor` | one attempt: lease, cancellation, retries, result |
| `operation_work` | the work of each kind, by the engine |
"""
