"""Mapping: columns of a stream that are more than the value of a field.

| module | what |
|---|---|
| `times_reader` | the reader of columns with a time format, around the reader of any message format |
| `nested_times` | dates and times in other forms inside ARRAY, ROW and the values of MAP |
| `time_formats` | dates and times in other forms than ISO 8601: numbers since the epoch, patterns, clocks of a zone |
| `time_pattern` | patterns such as `dd.MM.yyyy HH:mm` |
| `declared_values` | constants and defaults in the Arrow form of their column |
| `local_clock` | how far the clocks of a zone are ahead of UTC when they show a time |
"""
