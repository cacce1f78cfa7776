"""Metadata of a table on storage: schemas, snapshots, tags, manifests, and the files that they keep live."""
