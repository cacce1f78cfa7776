"""Files of one bucket: encodings, writers that cut runs into files, statistics and indexes."""
