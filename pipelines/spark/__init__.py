"""Spark itself: its session, its jars, Java, its checkpoints."""
