"""Errors in Protobuf schemas."""


class ProtobufSchemaError(ValueError):
    """A schema cannot be read, or has no such message."""
