"""HTTP service (FastAPI) for registry and tables: registration, lifecycle, status, wide rows.

From the top down; each imports only what is beside or below it:

| module | what |
|---|---|
| `server` | the process, or the workers |
| `app`, `braid_app` | the application: components, routes and layers |
| `serving/` | rows: the newest snapshot of each table in use, kept ready, and the answers before the framework |
| `subscription/` | changed rows as server-sent events |
| `routes/`, `dependencies` | the routes: parse a request, call the logic, and answer; dependencies that routes share |
| `access/` | who the client of a request is, and whether it may make the request |
| `http/`, `guard/` | sockets, connections, request ids and access log; bounds of the origin, the bodies and the number of requests; idempotency keys |
| `problems/`, `documented_problems`, `documented_parameters` | errors as problem documents; the problems of each operation, and the meanings of parameters, in the OpenAPI document |
| `checked_body`, `json_response`, `arrow_stream` | bodies parsed outside of the event loop; answers that the framework does not validate again; rows as Arrow |
| `control/` | the logic of the routes |
| `operations/` | long work on tables, in processes of its own |
| `console/` | the console: pages for a browser, which call the API |
| `metrics`, `process_sampler`, `reported_metrics`, `scope_notes` | metrics of the process and of the reports of runners; what layers note for them in a request |
| `components`, `open_tables`, `body_thread`, `replayed_body` | components that requests share: registry, open tables, the thread for bodies, and bodies that are read again |
| `report_cleaning` | deletion of the reports of runners that have long been gone |
| `lifecycle` | whether the process takes requests |
| `settings`, `limits`, `issuers` | settings of a service process, the bounds of requests, and issuers of JSON Web Tokens that operators trust |
| `request_slot` | the slot of a request among those of its class, which it gives back while it waits |
| `principal`, `column_mask` | the client of a request, with its grants; the columns that it may not see |
| `query_parameters`, `scope_headers`, `entity_tags`, `media_ranges`, `scope_requests` | parameters of a row's address; headers of a request; entity tags; accepted media types; the name of a request with an idempotency key |
| `times`, `shown_texts` | times as text; texts without the warehouse's address |
"""
