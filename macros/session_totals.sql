-- What a customer's orders make of the customer's sessions, one step per order, in the order given.
-- An order joins every session that it is not further from than `gap`, and makes one of them. Sessions that ended more
-- than `kept` before the newest order are forgotten; an order that is older itself is a session of its own.
-- A fold copies all that it has found at each of its steps, so orders are folded in as many blocks as each is long.
create temporary function session_totals(
    sessions array<struct<started_at: timestamp, ended_at: timestamp, total: decimal(37, 8)>>,
    newest_at timestamp,
    orders array<struct<
        landing_batch: bigint,
        topic: string,
        partition: int,
        offset: bigint,
        order_id: string,
        ordered_at: timestamp,
        landed_at: timestamp,
        amount: decimal(37, 8)
    >>,
    gap interval day to second,
    kept interval day to second
)
returns array<struct<
    made: struct<
        landing_batch: bigint,
        topic: string,
        partition: int,
        offset: bigint,
        order_id: string,
        ordered_at: timestamp,
        landed_at: timestamp,
        amount: decimal(37, 8)
    >,
    total: decimal(37, 8),
    is_late: boolean,
    newest_at: timestamp,
    sessions: array<struct<started_at: timestamp, ended_at: timestamp, total: decimal(37, 8)>>
>>
return transform(
    slice(
        aggregate(
            transform(
                sequence(1, size(orders), int(ceil(sqrt(size(orders))))),
                -- what is read again and again stands by itself: a field of a row that was shuffled is slow to read
                start -> transform(
                    slice(orders, start, int(ceil(sqrt(size(orders))))),
                    made -> named_struct('at', made.ordered_at, 'amount', made.amount)
                )
            ),
            array(named_struct(
                'total', cast(null as decimal(37, 8)),
                'is_late', false,
                'newest_at', newest_at,
                'sessions', sessions
            )),
            (steps, block) -> concat(
                steps,
                slice(
                    aggregate(
                        block,
                        slice(steps, -1, 1),
                        (latest, next) -> aggregate(
                            -- over nothing: gives `last` its name and copies nothing
                            array(),
                            element_at(latest, -1),
                            (last, nothing) -> last,
                            last -> array_append(latest, case
                                -- the usual case: the newest order goes on with the only session
                                when size(last.sessions) = 1
                                    and next.at >= last.newest_at
                                    and next.at <= last.sessions[0].ended_at + gap
                                    then aggregate(
                                        array(),
                                        try_cast(next.amount + last.sessions[0].total as decimal(37, 8)),
                                        (total, nothing) -> total,
                                        total -> named_struct(
                                            'total', total,
                                            'is_late', false,
                                            'newest_at', next.at,
                                            'sessions', array(named_struct(
                                                'started_at', last.sessions[0].started_at,
                                                'ended_at', next.at,
                                                'total', total
                                            ))
                                        )
                                    )
                                else aggregate(
                                    filter(
                                        last.sessions,
                                        session -> next.at between session.started_at - gap and session.ended_at + gap
                                            and not coalesce(next.at < last.newest_at - kept, false)
                                    ),
                                    named_struct('started_at', next.at, 'ended_at', next.at, 'total', next.amount),
                                    (joined, session) -> named_struct(
                                        'started_at', least(joined.started_at, session.started_at),
                                        'ended_at', greatest(joined.ended_at, session.ended_at),
                                        'total', try_cast(joined.total + session.total as decimal(37, 8))
                                    ),
                                    joined -> named_struct(
                                        'total', joined.total,
                                        'is_late', coalesce(next.at < last.newest_at - kept, false),
                                        'newest_at', greatest(last.newest_at, next.at),
                                        'sessions', if(
                                            coalesce(next.at < last.newest_at - kept, false),
                                            last.sessions,
                                            array_append(
                                                filter(
                                                    last.sessions,
                                                    session ->
                                                        session.ended_at >= greatest(last.newest_at, next.at) - kept
                                                        and not next.at between session.started_at - gap
                                                            and session.ended_at + gap
                                                ),
                                                joined
                                            )
                                        )
                                    )
                                )
                            end)
                        )
                    ),
                    2,
                    size(block)
                )
            )
        ),
        2,
        size(orders)
    ),
    -- the order itself stands here only: what is folded is copied at each step
    (step, number) -> named_struct(
        'made', orders[number],
        'total', step.total,
        'is_late', step.is_late,
        'newest_at', step.newest_at,
        'sessions', step.sessions
    )
)
