"""The command line: `braid --help`."""
