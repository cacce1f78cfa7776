"""Reference pages of declarations, from the contracts in `schemas` and the classes of the operators' file.

The modules, in the order in which to read them:

| module | what |
|---|---|
| `schema_text` | what a JSON Schema admits, in words |
| `contract_sections` | a section for each contract and enumeration: fields, values, defaults, meaning |
| `declared_examples` | declarations that use every field |
| `field_changes` | how the fields of registered tables and streams change |
| `declaration_pages`, `cluster_file_page` | the pages |
"""
