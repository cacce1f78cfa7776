"""Metrics, logs and traces of all processes. Neither Spark nor the service's framework is imported here.

| module | what |
|---|---|
| `metric_texts` | metrics as Prometheus reads them, and the registries that have them |
| `report_metrics` | metrics of streams, tables and runners, from the reports of runners |
| `disk_metrics` | free space of the disks that a process writes to |
| `maintenance_reports` | the report of a table's maintenance, from the counts of the engine |
| `worker_values` | metrics of several processes of one server, added up |
| `logs` | lines of text or JSON, ids of requests in them, and levels that signals change |
| `tracing` | spans of requests and micro-batches, where OpenTelemetry is installed |
| `probe_server` | `/metrics`, `/health` and `/ready` of a process that serves nothing else |
"""
