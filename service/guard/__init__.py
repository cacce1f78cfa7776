"""Guards in front of every request: who may send it, how large it is, how many run at once."""
