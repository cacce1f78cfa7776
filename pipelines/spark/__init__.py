"""Spark's session and checkpoints; Java, and the pinned jars of Spark and of all other programs in Java.

| module | contents |
|---|---|
| `session` | the session of a runner, whose JVM ends with its Python process |
| `scheduler_pools` | the pools by which the streams of a session share its task slots |
| `checkpoint` | the offsets that Spark's checkpoint has for a micro-batch |
| `java` | the location of Java, and the check of its version |
| `jars` | the pinned jars of `jars.lock`, downloaded and checked |
| `maven` | the download of artifacts from a Maven repository |
| `class_archive` | the archive from which the JVM maps its classes |
| `class_training` | the training run that makes the archive |
"""
