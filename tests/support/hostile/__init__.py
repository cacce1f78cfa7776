"""Hostile requests and connections, drawn from a seed, and an attack on a service process with them.

From the top down; each imports only what is beside or below it:

| module | contents |
|---|---|
| `attack` | the attack: requests and connections at once, the faults of their answers, and the memory of the service meanwhile |
| `attacked_service` | the service process, with a table whose rows other clients read |
| `credentials` | requests with broken, forged and huge credentials |
| `connections`, `sent_connections` | what an HTTP client library would not send, and its answers |
| `requests` | all kinds of requests, and how often each is drawn |
| `malformed_requests`, `row_requests` | requests about declarations and of any kind; requests about rows and records |
| `hostile_request` | one request |
"""
