"""Storage as the engine uses it: the protocol `FileIO`, and its implementations other than object stores.

| modules | what |
|---|---|
| `file_io` | the protocol |
| `open` | the implementation and the path for an address, object stores included |
| `local`, `disk`, `disk_hints` | storage on a POSIX file system, its system calls, and hints for their errors |
| `memory` | storage in memory, for tests |
| `positioned_input` | the base class of Python files over byte ranges |
| `exclusive_probe` | the test whether a store creates files exclusively |
| `scratch` | temporary local directories of a process; files that processes share |
"""
