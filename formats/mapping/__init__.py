"""Mapping: dates and times in declared formats, and constants and defaults of columns.

| module | what |
|---|---|
| `times_reader` | the reader of columns with a time format, around the reader of any message format |
| `nested_times` | dates and times in other forms inside ARRAY, ROW and the values of MAP |
| `time_formats` | dates and times in other forms than ISO 8601: numbers since the epoch, patterns, clocks of a zone |
| `time_pattern` | patterns such as `dd.MM.yyyy HH:mm` |
| `declared_values` | constants and defaults in the Arrow form of their column |
| `local_clock` | the offset of a time zone from UTC at a given local time |
"""
