"""Tests of `lake.format.variant`."""
