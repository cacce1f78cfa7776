"""Expressions: columns that are computed from the fields of a message by scalar SQL expressions.

| module | what |
|---|---|
| `computed_reader` | the reader of computed columns and of defaults, around the reader of any message format |
| `compiled` | an expression for a column: checked, with the fields that it uses |
| `syntax` | the text of an expression, checked part by part and written anew |
| `sql_text` | literals, types and names as SQL |
| `like_patterns` | patterns of LIKE as regular expressions |
| `patterns` | the size of regular expressions |
| `functions` | the functions and operators that expressions may use |
| `result_types` | which types of results a column holds without loss |
| `result_arrays` | results as the values of a column, and those that it does not hold |
| `sql_engine` | the database engine that evaluates expressions, without access to anything but its input |
| `errors` | what is wrong with an expression |
"""
