"""Security of Kafka clients: options by the names of Kafka's Java clients, for clients that are not Java.

| module | what |
|---|---|
| `jaas` | the login in `sasl.jaas.config`, read and written |
| `known_options` | names of security options: those that may be declared, and hints for those that are refused |
| `security_rules` | problems of a cluster's options, before and after its secrets are resolved |
| `client_security` | the settings that follow from the options: protocol, login, TLS |
| `tls` | TLS contexts from PEM certificates and keys |
| `token_source`, `token_endpoint` | the current token of OAUTHBEARER; new ones from an authorization server |
"""
