"""The order of rows and of values.

| modules | what |
|---|---|
| `merge_order` | rows sorted by key and version, and where each key begins |
| `key_order`, `key_codes`, `normalized_keys` | numbers that order rows as some columns do, for whole batches |
| `order_values` | comparable Python values, one at a time |
| `comparable_bytes` | comparable bytes that can be stored |
"""
