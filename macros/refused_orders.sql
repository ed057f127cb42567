-- The orders that do not get all pieces they ask for, when moves take their turns. What an order takes the next ones
-- miss; one that is refused takes nothing.
create temporary function refused_orders(
    moves array<struct<kind: string, order_id: string, pieces: map<string, bigint>>>,
    products array<string>
)
returns array<string>
return aggregate(
    moves,
    named_struct(
        'left', map_from_arrays(products, transform(products, product -> 0L)),
        'refused', cast(array() as array<string>)
    ),
    (so_far, move) -> case
        when move.kind = 'take'
            and exists(map_keys(move.pieces), product -> so_far.left[product] < move.pieces[product])
            then named_struct('left', so_far.left, 'refused', concat(so_far.refused, array(move.order_id)))
        when move.kind = 'undo' and array_contains(so_far.refused, move.order_id) then so_far
        else named_struct(
            'left', transform_values(so_far.left, (product, number) -> number - coalesce(move.pieces[product], 0L)),
            'refused', so_far.refused
        )
    end,
    so_far -> so_far.refused
)
