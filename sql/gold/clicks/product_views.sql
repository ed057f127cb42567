/*
Views of products as they are counted: one row per view, with the product's name if it had one when the view arrived.

materialized: append
*/
with view_totals as (
    select product_id, view_count, browser_hash, viewed_at, _arrival
    from stream silver.view_totals
),
changed_names as (
    select product_id, product_name, _arrival from stream silver.product_names
),
names_before as (
    select product_id, product_name from silver.product_names
),
events as (
    -- a name that is taken away is a change as well
    select
        *, string(product_id) as name_key, null as change
    from view_totals
    union all
    select
        null, null, null, null, _arrival, product_id, struct(product_name)
    from changed_names
),
named as (
    select
        events.*,
        coalesce(
            last_value(events.change, true) over (
                partition by events.name_key order by events._arrival
            ),
            struct(names_before.product_name)
        ).product_name as product_name
    from events
    left join names_before on events.name_key = names_before.product_id
),
product_views as (
    select
        product_id, product_name, view_count, browser_hash, viewed_at, _arrival
    from named
    where change is null
)
select * from product_views
