"""Avro: container files, their schemas, and the binary encoding of rows and columns."""
