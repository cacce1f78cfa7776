"""Rules for declared tables and streams, and what a declaration means to the engine."""
