"""Aggregate functions of serialised sets: bitmaps and sketches."""
