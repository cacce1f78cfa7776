"""JSON messages of Kafka, parsed in the JVM: expressions of Spark, and no rows."""
