"""Aggregate functions of serialised sets: bitmaps and sketches.

| modules | what |
|---|---|
| `bitmaps`, `sketches` | the functions |
| `bytes_union` | their common definition and declaration: two values are united |
| `bitmap32`, `bitmap64` | the unions of bitmaps in the two formats |
| `bitmap_containers`, `radix_tree` | parts of these formats |
"""
