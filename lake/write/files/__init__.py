"""Files of one bucket: encodings, writers that cut runs into files, statistics and indexes.

| modules | what |
|---|---|
| `encoding_rules`, `file_encodings` | formats that can be written, and the encoding of each file |
| `rolling_files`, `level_file`, `changelog_files` | runs cut into files, files of a level, files of a changelog |
| `file_statistics`, `file_index_writer` | statistics and index of a file |
"""
