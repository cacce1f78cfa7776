"""Routes: parsing of the request, one call, and the answer."""
