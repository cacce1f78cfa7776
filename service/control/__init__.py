"""What the routes answer, without HTTP."""
