"""The other implementations of the format in Python, beside ours."""
