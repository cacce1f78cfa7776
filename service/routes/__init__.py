"""HTTP only: parse, one call, answer."""
