-- The orders that do not get all pieces they ask for, when moves take their turns. What an order takes the next ones
-- miss; one that is refused takes nothing.
-- A fold copies all that it has found at each of its steps, so moves are folded in blocks.
create temporary function refused_orders(
    moves array<struct<kind: string, order_id: string, pieces: map<string, bigint>>>,
    products array<string>
)
returns array<string>
return aggregate(
    transform(sequence(0, int((size(moves) - 1) / 64)), block -> slice(moves, 64 * block + 1, 64)),
    named_struct(
        'left', map_from_arrays(products, transform(products, product -> 0L)),
        'refused', cast(array() as array<string>)
    ),
    (so_far, block) -> transform(
        array(aggregate(
            block,
            named_struct('left', so_far.left, 'refused', cast(array() as array<string>)),
            (latest, move) -> case
                when move.kind = 'take'
                    and exists(map_keys(move.pieces), product -> latest.left[product] < move.pieces[product])
                    then named_struct('left', latest.left, 'refused', concat(latest.refused, array(move.order_id)))
                when move.kind = 'undo' and array_contains(concat(so_far.refused, latest.refused), move.order_id)
                    then latest
                else named_struct(
                    'left', transform_values(
                        latest.left, (product, number) -> number - coalesce(move.pieces[product], 0L)
                    ),
                    'refused', latest.refused
                )
            end
        )),
        found -> named_struct('left', found.left, 'refused', concat(so_far.refused, found.refused))
    )[0],
    so_far -> so_far.refused
)
