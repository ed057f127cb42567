-- What an order waits for, in words.
create temporary function order_progress(
    order_id string,
    ordered array<struct<id: bigint, name: string>>,
    made array<struct<id: bigint, made_at: timestamp>>,
    missing array<bigint>,
    unexpected array<bigint>
)
returns string
return case
    when size(ordered) = 0
        then concat('order ', order_id, ': ', size(made), ' products made, waiting for the order')
    else concat(
        'order ', order_id, ': ',
        size(array_distinct(ordered.id)) - size(missing), '/', size(array_distinct(ordered.id)),
        ' manufactured products, ',
        if(
            size(missing) = 0,
            concat('all items of order ', order_id, ' were manufactured'),
            concat('waiting for ', array_join(filter(ordered, item -> array_contains(missing, item.id)).name, ', '))
        )
    )
end
