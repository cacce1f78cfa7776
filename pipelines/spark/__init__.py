"""Spark's session and checkpoints; Java, and the pinned jars of Spark and of all other programs in Java."""
