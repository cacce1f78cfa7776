"""What is live: schemas, the snapshot chain, manifests, and the files they leave standing."""
