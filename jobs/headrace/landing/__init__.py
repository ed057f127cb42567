"""Kafka to bronze: the topics of a domain land together, each record with a verdict, in one commit per landing batch.

The order of arrival is (landing batch, topic, partition, offset), fixed here permanently. Rows and the offsets that
have been read are one commit, so they cannot disagree. Bronze keeps every record as it came; `reject_reason` says what
is unusable.

- `landing`: offsets, batches, ticks. The moment of a batch is taken before Kafka is asked for its ends.
- `landing_time`: the time of a batch, which goes on also where the machine's clock is put back.
- `topics`, `starts`, `broker_admin`: the topics as Kafka has them, where reading begins, and what Kafka is asked.
- `seeds`: rows that come with the project.
- `judging`, `classify`, `body`: the verdict on each record, as SQL that is generated from the declared types.
- `relations`: what models see of a landing: typed rows, `_arrival`, and the landing's clock.
- `clocks`, `ticks`: how far event time has got by landed rows alone, and how it goes on when nothing comes.
- `replaying`: rejected rows judged again, as new arrivals, each once.

It feeds `queries` and `streaming`. Invariant: no offset is skipped or taken twice; if Kafka has dropped some, it
ends.
"""
