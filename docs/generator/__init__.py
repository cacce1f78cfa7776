"""Generator of reference pages, from the declarations in the code and from results of running it.

The modules, in the order in which to read them:

| module | what |
|---|---|
| `markdown`, `value_text` | Markdown of a page; texts of values |
| `worked_examples`, `engine_examples`, `function_examples`, `serialised_sets` | tables that are run for the examples |
| `traps`, `trap_causes` | surprising results, from the tests |
| `batch_support`, `compatibility` | parts of pages |
| `declarations` | pages of the declarations of tables and streams |
| `operation_pages` | pages of the operations of the HTTP API |
| `openapi_file` | the OpenAPI document as a file |
| `command_line_page`, `json_schemas` | the page of the command line; JSON Schemas of declarations |
| `function_pages`, `engine_pages`, `option_page`, `metric_page`, `trap_pages` | the pages |
| `pages` | all pages by path |
"""
