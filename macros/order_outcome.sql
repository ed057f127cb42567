-- What verdicts make of an order, and the arrival that decides it; the state is null while it is open. Rules are sorted.
-- Verdicts count until the deadline, which has certainly passed once there is an `overdue_arrival`.
create temporary function order_outcome(
    rules array<string>,
    verdicts array<struct<
        _arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>,
        check_type: string,
        result: string,
        reason: string,
        given_at: timestamp
    >>,
    created_arrival struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>,
    deadline timestamp,
    overdue_arrival struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>
)
returns struct<state: string, reason: string, decided_arrival: struct<landing_batch: bigint, topic: string, partition: int, offset: bigint>>
return case
    -- the usual case, which needs no fold: a verdict for each rule, all passed in time
    when sort_array(verdicts.check_type) = rules
        and verdicts.result = array_repeat('PASS', size(rules))
        and array_max(verdicts.given_at) <= deadline
        then named_struct(
            'state', 'VALIDATED',
            'reason', cast(null as string),
            'decided_arrival', greatest(created_arrival, array_max(verdicts._arrival))
        )
    else transform(
        array(filter(
            verdicts,
            verdict -> verdict.result = 'PASS'
                and verdict.given_at <= deadline
                and array_contains(rules, verdict.check_type)
        )),
        passed -> case
            -- each rule has one verdict, so none has failed
            when size(passed) = size(rules) then named_struct(
                'state', 'VALIDATED',
                'reason', cast(null as string),
                'decided_arrival', greatest(created_arrival, array_max(passed._arrival))
            )
            else transform(
                array(filter(
                    verdicts,
                    verdict -> verdict.result in ('FAIL', 'ERROR')
                        and verdict.given_at <= deadline
                        and array_contains(rules, verdict.check_type)
                )),
                failed -> case
                    when size(failed) > 0 then named_struct(
                        'state', 'FAILED',
                        'reason', array_join(
                            transform(
                                filter(
                                    failed,
                                    verdict -> verdict._arrival <= greatest(created_arrival, failed[0]._arrival)
                                ),
                                verdict -> concat_ws(': ', verdict.check_type, verdict.reason)
                            ),
                            ', '
                        ),
                        'decided_arrival', greatest(created_arrival, failed[0]._arrival)
                    )
                    when overdue_arrival is not null then named_struct(
                        'state', 'FAILED', 'reason', 'timeout', 'decided_arrival', overdue_arrival
                    )
                end
            )[0]
        end
    )[0]
end
