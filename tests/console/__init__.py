"""The console in a real Chromium (`make console-test`).

| module | what |
|---|---|
| `console_bed` | a service with tables, streams, rows, failures and dead letters, which the browser visits |
| `visitor` | a browser that collects errors of pages, and the check of accessibility |
"""
