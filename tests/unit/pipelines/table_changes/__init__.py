"""Tests of streaming reads."""
