"""Dead letters of a stream, read from their topic again: listed, and replayed after a mend. Without Spark.

| module | what |
|---|---|
| `letter_topic` | the letters on a dead-letter topic, read with kafka-python |
| `letter_standing` | whether a letter is open, was replayed, or cannot be replayed |
| `letter_pages` | pages of letters, to be shown |
| `replay_writer` | the records of some letters: parsed, and written as files |
| `replay_run` | the replay of a selection, commit by commit |
| `registered_replay` | the same for a registered stream |
| `letter_desk` | the threads of a runner that answer questions for letters and carry out replays |
"""
