"""Documents of the registry on storage: versions, the audit log, leases, pending schema changes, progress reports.

| module | what |
|---|---|
| `documents`, `document_writer` | the documents of tables; their changes by compare-and-swap |
| `change_log`, `registry_view` | counted changes of documents; all documents in memory, kept up by them |
| `versions` | a document whose versions are separate files |
| `stored_documents` | the JSON of documents, which older and newer versions of the software share |
| `revision`, `named_request` | preconditions of a change; requests that are applied once |
| `remembered_requests` | answers of requests with an idempotency key |
| `operations` | operations: long work that any process of the service carries out |
| `pending_schemas` | changes of both a document and its table's schema |
| `audit_log`, `audit_pages` | who changed what and when: entries of changes; pages of them, newest first |
| `document_changes` | the changed values between two versions of a document |
| `new_names` | names of tables in creation |
| `leases` | the right of one process to maintain a table, or to carry out an operation |
| `assignments`, `stream_holders` | which runner has which stream: versions of the assignment, and the living holders |
| `observed_ages` | ages of reports, corrected by the observations of the reading process |
| `storage_clock` | storage's clock, by which leases expire |
| `superseded_reports` | reports that may be deleted, because they decide nothing any more |
| `progress`, `backfill_reports` | the reports of runners, and of backfills |
| `access_tokens` | access tokens of clients |
| `letter_questions` | questions for dead letters, and the answers of runners |
| `paths` | the paths of these documents on storage |
"""
