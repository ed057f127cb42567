-- The JSON of an order with another state and a reason; all other fields stay as they are.
create temporary function order_with_outcome(body string, state string, reason string)
returns string
return case
    -- the usual case, which need not be read: without an escape, the only "state" of the text is the order's own
    when reason is null
        and length(replace(body, '"state"')) = length(body) - length('"state"')
        and (contains(body, '"state": "CREATED"') or contains(body, '"state":"CREATED"'))
        and not contains(body, '"reason"')
        and not contains(body, '\\')
        and endswith(body, '}')
        then concat(
            replace(
                replace(left(body, length(body) - 1), '"state": "CREATED"', concat('"state": "', state, '"')),
                '"state":"CREATED"', concat('"state":"', state, '"')
            ),
            ', "reason": null}'
        )
    else to_json(
        map_concat(
            transform_values(
                map_filter(from_json(body, 'map<string, variant>'), (field, value) -> field <> 'reason'),
                (field, value) -> if(field = 'state', cast(state as variant), value)
            ),
            map('reason', cast(reason as variant))
        ),
        map('ignoreNullFields', 'false')
    )
end
