"""Lookups by primary key: how long a key takes, there or not, and how long a file that is cold."""
