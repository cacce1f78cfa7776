"""Spark's session and checkpoints; Java, and the pinned jars of Spark and of all other programs in Java.

| module | contents |
|---|---|
| `target` | where tasks run, as Spark's configuration: this machine, a cluster, what `spark-submit` says |
| `session` | the session of a runner, whose JVM ends with its Python process |
| `cluster_session` | the session of a command on a cluster, checked and ended |
| `executor_check`, `executor_probe` | the comparison of executors' Python and code with the driver's; what each executor answers |
| `executor_storage` | the check that executors can use the warehouse |
| `executor_pod` | the entry point of executors on Kubernetes |
| `executor_watch` | the executors that run and that were lost |
| `environment_archive` | the archive of the packages that executors need |
| `worker_daemon` | the process that Python workers are forked from |
| `single_tasks` | work on executors, each piece as a job of one task |
| `bucket_pool`, `spread_paths` | compaction of buckets, and listing and deleting of files, by Spark's executors |
| `source_options` | options of reads and writes with the format `braid` |
| `scheduler_pools` | the pools by which the streams of a session share its task slots |
| `spark_types` | Spark's types of columns, and batches in the forms that Spark expects |
| `checkpoint` | the offsets that Spark's checkpoint has for a micro-batch |
| `java` | the location of Java, and the check of its version |
| `jars` | the pinned jars of `jars.lock`, downloaded and checked |
| `maven` | the download of artifacts from a Maven repository |
| `class_archive` | the archive from which the JVM maps its classes |
| `class_training` | the training run that makes the archive |
"""
