"""Demo on real data: three streams into one table, with a broker, runners and the service, all on this machine.

Tests and benchmarks use its parts as well.

| module | what |
|---|---|
| `flights`, `flights_run` | the program of `make demo` and `braid demo`; the processes of one run |
| `flights_data`, `flights_definition`, `flights_producer` | the data set; the table and the streams; the program that sends a stream's records to its topic |
| `broker` | a Kafka broker |
| `s3_server`, `s3_fault_proxy` | an S3 server, and the proxy in front of it; the demo starts them with `--s3` or `--faults` |
| `processes`, `ports` | child processes and free ports |
"""
