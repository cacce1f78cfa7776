"""Layout of declared tables: their columns, options and aggregate functions in the table format. Pure.

| modules | what |
|---|---|
| `physical_table` | columns and options of the table format for a declared table |
| `declared_types` | types of declared columns |
| `column_functions`, `function_defaults` | aggregate functions of columns; default options of these functions |
| `delete_options`, `expiry_options` | options for deletes and their retention, and for the time to live of rows |
| `stream_columns` | columns that a stream writes |
| `left_out_values` | columns whose values captured changes may leave out |
"""
