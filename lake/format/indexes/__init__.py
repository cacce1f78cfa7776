"""Index files: bloom filters, hash indexes, deletion vectors, and their manifest."""
