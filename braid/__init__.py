"""The command line of Braid: `braid --help`."""
