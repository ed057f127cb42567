-- What is wrong with the details of an order, null if nothing is: its sums must not be negative, its products known.
create temporary function order_fault(
    lines array<struct<product: string, quantity: int, price: decimal(28, 8)>>,
    are_known boolean
)
returns string
return case
    when size(lines) = 1 then case -- the usual case, which needs no fold
        when lines[0].quantity < 0 then 'negative_quantity'
        when lines[0].price < 0 then 'negative_price'
        when not coalesce(are_known, false) then 'unknown_product'
    end
    when aggregate(lines, 0L, (sum, line) -> sum + line.quantity) < 0 then 'negative_quantity'
    when aggregate(lines, cast(0 as decimal(37, 8)), (sum, line) -> cast(sum + line.price as decimal(37, 8))) < 0
        then 'negative_price'
    when size(lines) = 0 or not coalesce(are_known, false) then 'unknown_product'
end
