"""The running parts of a project, each a `Task` that does one step at a time; `supervisor` calls the steps.

`task` is their common interface, with the counters and the commit signals that they share. One module for each kind:
`landing`, `group` (micro-batch models), `streamed` (a model in Spark's streaming engine), `snapshot`, `publisher`; and
`unopened`, for what could not be opened.
"""
