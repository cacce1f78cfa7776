"""Aggregate functions of serialised sets: bitmaps and sketches.

| modules | what |
|---|---|
| `bitmaps`, `sketches` | the functions |
| `bytes_union` | their common definition: two values are united |
| `bitmap32`, `bitmap64` | the formats of bitmaps |
| `bitmap_containers`, `radix_tree` | parts of these formats |
"""
