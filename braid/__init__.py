"""Braid: many Kafka streams, one wide row per key, no join.

In a checkout the folders of this package, all but `cli`, are links to the folders beside it.
"""
