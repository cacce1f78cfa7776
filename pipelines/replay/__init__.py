"""Dead letters of a stream: listed, and replayed after their cause was corrected. Without Spark.

| module | what |
|---|---|
| `letter_topic` | the reader of letters on a dead-letter topic, with kafka-python |
| `letter_standing` | whether a letter is open, was replayed, or cannot be replayed |
| `letter_pages` | pages of letters, for people |
| `replay_writer` | the records of some letters: parsed, and written as files |
| `replay_run` | the replay of a selection, commit by commit |
| `registered_replay` | letters and replays of a registered stream |
| `letter_desk` | the threads of a runner that answer questions for letters and carry out replays |
"""
