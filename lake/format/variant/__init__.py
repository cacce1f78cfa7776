"""The binary encoding of VARIANT values: JSON to values, and values to JSON.

| module | what |
|---|---|
| `layout` | the numbers of the encoding, and its bounds |
| `from_json`, `to_json` | one JSON text to a value; one value to JSON |
| `columns` | columns of values, from and to columns of JSON texts |

A value is two byte strings. `metadata` is a dictionary of the names of fields, in the order in which they first occur;
`value` is the value itself, the names in it being numbers of the dictionary. The low two bits of its first byte say what
it is, the others its kind, its length, or the widths of the numbers in it:

- 0: a scalar of a kind of `layout`, whose bytes follow;
- 1: a text of at most 63 bytes;
- 2: an object: the number of its fields, their names' numbers sorted by name, offsets, values;
- 3: an array: the number of its elements, offsets, values.

All numbers are little-endian. Source: parquet-format, VariantEncoding.md.
"""
