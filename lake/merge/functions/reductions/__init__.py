"""Vectorised reductions of aggregate functions, for many keys at once.

| modules | what |
|---|---|
| `position_reductions`, `order_reductions` | reductions that pick a record: the first or last, the greatest or smallest |
| `segment_folds`, `sum_reduction`, `product_reduction` | reductions of numbers |
| `text_reduction`, `list_reduction`, `map_reduction` | reductions of texts, arrays and maps |
| `single_value` | keys with at most one value, for functions without a reduction |
"""
