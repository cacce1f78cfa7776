"""Vectorised reductions of aggregate functions, for many keys at once.

| modules | what |
|---|---|
| `position_reductions`, `order_reductions` | reductions that pick a record: the first or last, the greatest or smallest |
| `sum_reduction`, `product_reduction`, `segment_folds` | sum and product, and the folds of numbers that they share |
| `text_reduction`, `list_reduction`, `map_reduction` | reductions of texts, arrays and maps |
| `single_value` | keys with at most one value, or with none, for functions without a reduction |
"""
