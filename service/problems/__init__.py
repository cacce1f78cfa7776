"""Problem documents (RFC 9457): errors, codes and statuses, and the handlers that answer them."""
