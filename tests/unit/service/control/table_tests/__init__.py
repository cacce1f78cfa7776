"""Tests of the runs of table tests."""
