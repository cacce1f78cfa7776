"""FastAPI over registry and tables: registration, lifecycle, status, wide rows.

From the top down; each imports only what is below it:

| module | what |
|---|---|
| `server` | the process |
| `app` | the application: components, routes and layers |
| `routes/`, `dependencies` | parsing of a request, one call, the answer |
| `http/`, `guard/` | the outer layers: connections and request ids; the origin, the size and the number of requests |
| `problems/` | errors as problem documents |
| `checked_body`, `json_response` | bodies parsed outside of the event loop; answers that the framework does not validate again |
| `control/` | the logic of the routes |
| `components`, `open_tables`, `body_thread` | what requests share: registry, open tables, the thread for bodies |
| `settings`, `limits` | settings of a process, and the bounds of requests |
| `views`, `times`, `shown_texts` | models of the API besides `schemas` and `control/schema_history`; times as text; texts without the warehouse's address |
"""
