"""Storage as the engine uses it: the protocol `FileIO` and its implementations."""
