"""New fields of messages, which a stream does not declare: how they are found, and which type they get."""
