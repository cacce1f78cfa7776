"""Braid: many Kafka streams are written into one wide row per key, without a join.

In a checkout, all folders of this package except `cli` are links to the folders beside the package.
"""
