"""Rules for declared tables and streams.

`table_rules` and `stream_rules` call all others. Each rule is a function from a declaration to its problems;
none reads or writes anything, except `takeover`, which fences former owners.
"""
