"""Every problem that the OpenAPI document lists for an operation is provoked by a real request.

| module | what |
|---|---|
| `answered` | the problem of an answer |
| `documented` | operations and their problems, as the document lists them |
| `warehouse` | the warehouse that all requests are for: made once, copied for each request |
| `valid_requests` | a request for each operation that succeeds in this warehouse |
| `deployment` | a service over a copy of the warehouse, whose storage fails as told |
| `provocations` | the table of provocations: by problem a function that provokes it, for each operation that documents it |
| `refused`, `identified` | provocations by the connection and the layers around the framework, and by access control |
| `absent`, `invalid`, `changed`, `read`, `stored` | provocations by names, by rules, by other changes, by reads, and by what is stored |
"""
