"""Generator of reference pages, from the declarations in the code and from results of running it.

Reading order: `markdown` and `value_text` (the syntax of a page, and of values), `worked_examples`,
`engine_examples`, `function_examples` and `serialised_sets` (tables that are run), `traps` and `trap_causes`
(surprising results, from the tests), `batch_support` and `compatibility` (parts of pages), `function_pages`,
`engine_pages`, `option_page`, `trap_pages` (the pages), `pages` (all of them by path).
"""
