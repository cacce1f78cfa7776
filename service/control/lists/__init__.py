"""Lists of tables and streams over the whole warehouse: conditions, orders, pages and their cost.

| module | what |
|---|---|
| `resource_lists` | the lists, read from documents and reports |
| `list_query` | what a request asks: conditions on the entries, the order, the page |
| `list_pages` | pages by the order of the entries, and their tokens |
| `summaries` | the entries of the lists, from documents and reports |
| `recent_reports` | the reports of runners, read once a second at most |
"""
