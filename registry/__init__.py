"""The registry: declared and observed state of tables and streams, as documents in the warehouse.

From the bottom up:

* `names`, `errors`;
* `store`: versioned documents, leases and progress reports on storage;
* `layout`: what a declaration becomes in the table format;
* `rules`: what a declaration has to fulfil;
* `alteration`: changes of registered tables, with their schemas;
* `registrar` and the modules beside it: registration, lifecycle and removal.
"""
