"""Problems as RFC 9457 says: from errors to answers."""
