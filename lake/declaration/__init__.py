"""Rules for what a table may declare, checked before any data exists."""
