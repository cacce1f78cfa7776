"""Fields of messages that a stream does not declare: found, given a type, made columns."""
