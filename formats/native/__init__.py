"""Values of formats with a schema, such as Avro and Protobuf, as values of columns.

| module | what |
|---|---|
| `kinds` | the kinds of value, and which types of column can be filled from them |
| `native_types` | the types of a schema, and how the columns of a stream fit them |
| `column_types` | the column types that hold all values of a scalar type |
| `values` | single values as Python objects, and as JSON |
| `exact_values` | one value as the value of a column's type, or the fault if it does not fit |
| `record_values` | the columns of one record |
| `leaf_arrays` | arrays of scalar values as columns, vectorised |
"""
