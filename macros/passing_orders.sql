-- The orders that get all pieces they ask for, when moves take their turns. What an order takes the next ones miss.
create temporary function passing_orders(
    moves array<struct<kind: string, order_id: string, pieces: map<string, bigint>>>,
    products array<string>
)
returns array<string>
return aggregate(
    moves,
    named_struct(
        'left', map_from_arrays(products, transform(products, product -> 0L)),
        'passed', cast(array() as array<string>)
    ),
    (so_far, move) -> if(
        case move.kind
            when 'take' then forall(map_keys(move.pieces), product -> so_far.left[product] >= move.pieces[product])
            when 'undo' then array_contains(so_far.passed, move.order_id)
            else true
        end,
        named_struct(
            'left', transform_values(so_far.left, (product, number) -> number - coalesce(move.pieces[product], 0L)),
            'passed', if(move.kind = 'take', concat(so_far.passed, array(move.order_id)), so_far.passed)
        ),
        so_far
    ),
    so_far -> so_far.passed
)
