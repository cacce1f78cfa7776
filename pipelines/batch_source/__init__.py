"""Tables read by Spark: `spark.read.format("braid")`."""
