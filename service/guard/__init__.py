"""Guards in front of the routes: the site that a request comes from, its body, and how many run at once."""
