"""JSON: messages and Kafka keys to the columns of a stream."""
