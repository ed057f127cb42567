"""Gold to Kafka, exactly once.

A transaction holds a bounded number of rows, in order of arrival, and the record of how far they get. A start first
fences off any other instance of the publisher and only then reads the progress.

- `publisher`: the loop. `transactions`: rows and their record, sent together.
- `messages`, `routes`: a row's key, value, headers and topic; which topics may be written.
- `outlet`: the producer, and the topic `headrace-progress`. `progress`: how far a table was sent, and by whom.
- `positions`: the progress, compared with its table. `settling`: rows that were sent and that a restored table does not
  hold. `sent`: what was sent before, when a table is swapped for a rebuilt one.
- `outstanding`: what a reset would leave unsent. `set_aside`: rows that Kafka rejects; the others are sent.
- `published_note`: that a model has been published; it shows that Kafka has lost a record.

Rules: consumers read with `isolation.level=read_committed`. What a table holds before it has any progress is not sent
unless the model asks for it. One that was published and has no progress any more is refused, whatever the model asks
for. A progress that is ahead of its table, or over another one, is refused with the choices.
A publisher that another one has fenced off ends.
"""
