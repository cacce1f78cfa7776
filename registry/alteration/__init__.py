"""Changes of registered tables: declaration, streams and schema together."""
