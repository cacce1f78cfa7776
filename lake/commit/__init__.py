"""Files become a snapshot: conflict rules, exclusive publishing, exactly-once streams."""
