"""The bytes of the table format and the frozen values they stand for; pure, no I/O."""
