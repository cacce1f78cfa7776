"""The HTTP server, its processes and connections, and what each request passes first.

| module | what |
|---|---|
| `listening_sockets` | the sockets, opened before anything else |
| `worker_processes` | processes that accept from the same sockets |
| `process_memory`, `arrow_without_pandas` | memory of a process: settings of the allocator; what Arrow would load |
| `protocol` | connections, and bounds of the heads of requests |
| `certificates` | TLS, with certificates that are renewed while the server runs |
| `request_context`, `access_log` | ids of requests; a line of log and an observation for each |
| `request_traces` | spans of requests |
| `security_headers` | headers of every answer, for browsers |
| `conditional_reads` | 304 for answers that the client has |
| `row_dispatch` | rows, which are answered before the framework |
"""
