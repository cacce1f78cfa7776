"""Errors about schemas of Protobuf."""


class ProtobufSchemaError(ValueError):
    """A schema cannot be read, or has no such message."""
