"""Rules for declared tables and streams.

`table_rules` and `stream_rules` call all others. Each rule is a pure function from declarations to their
problems.
"""
