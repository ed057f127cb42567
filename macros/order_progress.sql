-- What an order waits for, in words.
create temporary function order_progress(
    order_id string,
    ordered array<struct<id: bigint, name: string>>,
    missing array<bigint>,
    made_count int,
    ordered_count int
)
returns string
return case
    when ordered_count = 0
        then concat('order ', order_id, ': ', made_count, ' products made, waiting for the order')
    else concat(
        'order ', order_id, ': ',
        ordered_count - size(missing), '/', ordered_count,
        ' manufactured products, ',
        if(
            size(missing) = 0,
            concat('all items of order ', order_id, ' were manufactured'),
            concat('waiting for ', array_join(filter(ordered, item -> array_contains(missing, item.id)).name, ', '))
        )
    )
end
