"""`braid watch`: streams as they are now, again and again: state, lag, rate.

| module | what |
|---|---|
| `readings` | the streams of a service at one moment; rates from two moments |
| `view` | the readings as a table, on a terminal live, and as records |
| `command` | the command: the rounds |
"""
