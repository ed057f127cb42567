-- The JSON of an order with another state and a reason; all other fields stay as they are.
create temporary function order_with_outcome(body string, state string, reason string)
returns string
return to_json(
    map_concat(
        transform_values(
            map_filter(from_json(body, 'map<string, variant>'), (field, value) -> field <> 'reason'),
            (field, value) -> if(field = 'state', cast(state as variant), value)
        ),
        map('reason', cast(reason as variant))
    ),
    map('ignoreNullFields', 'false')
)
