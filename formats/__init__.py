"""Formats of messages, keys and rows, and the Kafka clusters they come from. No Spark, no HTTP."""
