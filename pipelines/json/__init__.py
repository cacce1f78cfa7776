"""JSON messages of Kafka, parsed in the JVM by Spark expressions; no row passes through Python here."""
