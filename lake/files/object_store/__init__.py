"""Storage on object stores: S3, Google Cloud Storage, Azure."""
