"""Problem documents (RFC 9457): from errors to answers."""
