"""Generator of reference pages, from the declarations in the code and from results of running it.

Reading order: `markdown` (the syntax of a page), `worked_examples` and `function_examples` (tables
that are run), `function_pages`, `engine_pages`, `option_page`, `trap_pages` (the pages), `pages`
(all of them by path).
"""
