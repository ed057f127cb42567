-- The first verdict of each rule, in the order of arrival, which both lists are in.
create temporary function first_verdicts(
    known array<struct<
        _arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>,
        check_type: string,
        result: string,
        reason: string,
        given_at: timestamp
    >>,
    added array<struct<
        _arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>,
        check_type: string,
        result: string,
        reason: string,
        given_at: timestamp
    >>
)
returns array<struct<
        _arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>,
        check_type: string,
        result: string,
        reason: string,
        given_at: timestamp
    >>
return case
    when size(added) = 0 then known
    -- the usual case, which needs no fold
    when size(known) = 0 and size(array_distinct(added.check_type)) = size(added) then added
    else aggregate(
        if(size(known) = 0, added, sort_array(concat(known, added))),
        slice(added, 1, 0),
        (firsts, verdict) -> if(
            array_contains(firsts.check_type, verdict.check_type), firsts, concat(firsts, array(verdict))
        )
    )
end
