"""Incoming rows: checks, row kinds, defaults, and retracts without values.

| modules | what |
|---|---|
| `stored_rows` | rows as a writer stores them: all of the following |
| `row_check`, `lossless_cast`, `key_length` | rows against the schema: names, types, limits; casts that change no value; length of keys |
| `row_kinds` | kinds of rows |
| `group_participation`, `group_defaults` | rows that take part in a sequence group, and defaults in groups |
| `null_deletes` | retracts without values |
"""
