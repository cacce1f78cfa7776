"""Guards in front of the routes: they check the site that a request comes from, its body, and the number of running requests.

| module | what |
|---|---|
| `same_site` | refusal of requests that a page of another site caused |
| `acceptable_types` | refusal of requests whose clients accept no media type that the answer can have |
| `body_bounds`, `json_shape` | bounds of size, depth and number of values of a body |
| `admission`, `request_class` | a slot among the concurrent requests of a class; the class of a request |
| `idempotent_posts` | POST requests with an idempotency key, which are carried out once |
| `asgi_problem` | the problems with which guards answer |
"""
