"""Logic of the routes, without HTTP."""
