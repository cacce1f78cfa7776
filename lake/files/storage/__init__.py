"""Storage as the engine uses it: the protocol `FileIO` and its implementations.

| modules | what |
|---|---|
| `file_io` | the protocol |
| `open` | the choice of the implementation for an address |
| `local`, `disk` | storage on a POSIX file system, and its system calls |
| `memory` | storage in memory, for tests |
| `positioned_input` | Python files over byte ranges |
| `exclusive_probe` | the test whether a store creates files exclusively |
| `scratch` | local directories of a process |
"""
