"""Access control: who the client of a request is, and whether it may make the request.

```
request ──► access_layer ──► route_scopes: the requirement of its route
                         └─► identities: credentials ──► token_identities, jwt_identities ──► Principal
```

| module | what |
|---|---|
| `access_layer` | the ASGI layer outside of the row dispatch and of the framework |
| `route_scopes` | the scope that each route needs |
| `identities` | the client by the credentials of a request, and refusals |
| `token_identities` | clients with an access token of the warehouse |
| `jwt_identities`, `signing_keys` | clients with a JSON Web Token of a trusted issuer; the keys of the issuer |
| `refreshed` | values of storage or of other servers that are loaded again and again, and read without waiting |
"""
