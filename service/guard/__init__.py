"""Guards in front of the routes: they check the site that a request comes from, its body, and the number of running requests."""
