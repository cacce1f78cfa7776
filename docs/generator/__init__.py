"""Reference pages, made from the declarations of the code and from what the code does.

Reading order: `markdown` (how a page is written), `worked_examples` and `function_examples` (what
the code is asked), `function_pages`, `engine_pages`, `trap_pages` (what is said), `pages` (all).
"""
