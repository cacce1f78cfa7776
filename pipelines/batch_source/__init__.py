"""Batch source of Spark: tables read by `spark.read.format("braid")`."""
