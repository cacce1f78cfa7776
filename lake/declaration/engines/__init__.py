"""Declarations of the merge engines, one file per engine, and `common` with what several share."""
