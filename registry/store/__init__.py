"""Documents of the registry on storage: versions, leases, pending schema changes, progress reports."""
