-- The lines of an order: its items or, if it has none, the one that it is itself.
create temporary function order_lines(
    product string,
    quantity int,
    price decimal(28, 8),
    items array<struct<product: string, quantity: int, price: decimal(28, 8)>>
)
returns array<struct<product: string, quantity: int, price: decimal(28, 8)>>
return case
    when items is null then array(named_struct(
        'product', product, 'quantity', coalesce(quantity, 0), 'price', coalesce(price, 0)
    ))
    else transform(
        items,
        line -> named_struct(
            'product', line.product,
            'quantity', coalesce(line.quantity, 0),
            'price', coalesce(line.price, 0)
        )
    )
end
