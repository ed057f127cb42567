-- How many pieces of each product some lines ask for; a line without a product asks for one that nobody has.
create temporary function pieces_per_product(
    lines array<struct<product: string, quantity: int, price: decimal(28, 8)>>
)
returns map<string, bigint>
return case
    when size(lines) = 1 -- the usual case, which needs no fold
        then map(coalesce(lines[0].product, ''), cast(lines[0].quantity as bigint))
    else map_from_entries(
        transform(
            array_distinct(transform(lines, line -> coalesce(line.product, ''))),
            product -> named_struct(
                'product', product,
                'pieces', aggregate(
                    filter(lines, line -> coalesce(line.product, '') = product),
                    0L,
                    (pieces, line) -> pieces + line.quantity
                )
            )
        )
    )
end
