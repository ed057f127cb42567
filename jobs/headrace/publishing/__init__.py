"""Gold to Kafka, exactly once.

A transaction holds a bounded number of rows, in order of arrival, and the record of how far they get. A start first
fences off any other instance of the publisher and only then reads the progress.

- `publisher`: the loop. `messages`, `routes`: a row's key, value, headers and topic; which topics may be written.
- `outlet`, `progress`: the topic `headrace-progress`, and a record on it.
- `sent`: what was sent before, when a table is swapped for a rebuilt one.
- `outstanding`: what a reset would leave unsent. `set_aside`: rows that Kafka rejects; the others are sent.

Rules: consumers read with `isolation.level=read_committed`. What a table holds before it has any progress is not sent
unless the model asks for it.
"""
