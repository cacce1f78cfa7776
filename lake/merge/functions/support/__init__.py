"""Arithmetic, equality, options and errors that several aggregate functions share.

| modules | what |
|---|---|
| `option_values`, `function_errors` | values of options; errors |
| `exact_numbers`, `overflow`, `number_columns` | arithmetic on plain values, its overflow rules, and columns as numpy arrays |
| `value_equality`, `elements`, `arrival_order` | equality of values, elements of arrays and maps, and late values first |
"""
