"""FastAPI over registry and tables: registration, lifecycle, status, wide rows."""
