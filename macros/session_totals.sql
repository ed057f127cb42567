-- What each order of a customer makes of the customer's sessions, one step per order, in the order given.
-- An order joins every session that is at most `gap` away from it, and makes one of them. Sessions that ended more than
-- `kept` before the newest order are dropped; an order that is older itself is late, and a session of its own.
create temporary function session_totals(
    sessions array<struct<started_at: timestamp, ended_at: timestamp, total: decimal(37, 8)>>,
    newest_at timestamp,
    orders array<struct<ordered_at: timestamp, amount: decimal(37, 8)>>,
    gap interval day to second,
    kept interval day to second
)
returns array<struct<
    total: decimal(37, 8),
    is_late: boolean,
    newest_at: timestamp,
    sessions: array<struct<started_at: timestamp, ended_at: timestamp, total: decimal(37, 8)>>
>>
return slice(
    aggregate(
        -- `aggregate` copies its result at each step, so a thousand orders are 32 blocks of 32 orders
        transform(
            sequence(1, size(orders), int(ceil(sqrt(size(orders))))),
            start -> slice(orders, start, int(ceil(sqrt(size(orders)))))
        ),
        array(named_struct(
            'total', cast(null as decimal(37, 8)),
            'is_late', false,
            'newest_at', newest_at,
            'sessions', sessions
        )),
        (steps, block) -> concat(steps, slice(
            aggregate(block, slice(steps, -1, 1), (latest, next) -> array_append(latest, transform(
                array(element_at(latest, -1)),
                last -> aggregate(
                    filter(
                        last.sessions,
                        session -> next.ordered_at between session.started_at - gap and session.ended_at + gap
                            and not coalesce(next.ordered_at < last.newest_at - kept, false)
                    ),
                    named_struct('started_at', next.ordered_at, 'ended_at', next.ordered_at, 'total', next.amount),
                    (joined, session) -> named_struct(
                        'started_at', least(joined.started_at, session.started_at),
                        'ended_at', greatest(joined.ended_at, session.ended_at),
                        'total', try_cast(joined.total + session.total as decimal(37, 8))
                    ),
                    joined -> named_struct(
                        'total', joined.total,
                        'is_late', coalesce(next.ordered_at < last.newest_at - kept, false),
                        'newest_at', greatest(last.newest_at, next.ordered_at),
                        'sessions', if(
                            coalesce(next.ordered_at < last.newest_at - kept, false),
                            last.sessions,
                            array_append(
                                filter(
                                    last.sessions,
                                    session -> session.ended_at >= greatest(last.newest_at, next.ordered_at) - kept
                                        and not next.ordered_at between session.started_at - gap
                                            and session.ended_at + gap
                                ),
                                joined
                            )
                        )
                    )
                )
            )[0])),
            2,
            size(block)
        ))
    ),
    2,
    size(orders)
)
