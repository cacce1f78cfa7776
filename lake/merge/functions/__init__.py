"""The aggregate functions of the format, and the loading of users' functions.

| modules | what |
|---|---|
| `registry` | all functions by name |
| `arithmetic`, `extremes`, `logic`, `text` | families: sum and product; max and min; bool_and and bool_or; listagg |
| `first_and_last` | family of first_value and last_value, and of their forms that skip nulls |
| `lists`, `maps`, `nested_rows`, `sets/` | families of arrays, maps, arrays of rows, bitmaps and sketches |
| `nested_tables` | the definitions of the functions in `nested_rows` |
| `reductions/`, `support/` | vectorised reductions, and what several families share |
| `extension`, `user_function_errors` | functions of users, and the errors of their code |

A family defines `FunctionDeclaration`s. Each has a definition (one value at a time), mostly a vectorised reduction,
checks, and the texts of the reference pages.
"""
