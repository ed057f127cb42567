-- Quantity times price, summed over lines; null if that is too much to be exact.
create temporary function order_amount(
    lines array<struct<product: string, quantity: int, price: decimal(28, 8)>>
)
returns decimal(37, 8)
return case
    when size(lines) = 1 -- the usual case, which needs no fold
        then try_cast(try_cast(lines[0].price as decimal(26, 8)) * lines[0].quantity as decimal(37, 8))
    else aggregate(
        lines,
        cast(0 as decimal(37, 8)),
        (amount, line) -> try_cast(
            amount + try_cast(line.price as decimal(26, 8)) * line.quantity as decimal(37, 8)
        )
    )
end
