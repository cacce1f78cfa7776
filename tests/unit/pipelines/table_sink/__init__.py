"""Tests of writes by Spark programs."""
