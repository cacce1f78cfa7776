"""What several tests build on: small tables, foreign engines, storage that fails."""
