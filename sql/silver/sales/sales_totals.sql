/*
Running total per product: one row per product, one change per sales event.

materialized: upsert
unique_key: product
delete_when: is_deletion
*/
with sales as (
    select product, value, is_deletion, product_differs, sold_at, _arrival
    from stream silver.sales
),
sales_resets as (
    select product, _arrival from stream silver.sales_resets
),
before as (
    select product, total, has_reached, mismatch_count from silver.sales_totals
),
numbered as (
    -- a life of a product ends with its deletion, a run of its total also with a reset
    select
        sales.*,
        sales_resets.product is not null as is_reset,
        count_if(is_deletion) over (
            partition by sales.product order by sales._arrival
            rows between unbounded preceding and 1 preceding
        ) as life,
        count_if(is_deletion or sales_resets.product is not null) over (
            partition by sales.product order by sales._arrival
            rows between unbounded preceding and 1 preceding
        ) as run
    from sales
    left join sales_resets
        on sales.product = sales_resets.product
        and sales._arrival = sales_resets._arrival
),
summed as (
    select
        numbered.*,
        before.total as total_at_start,
        if(life = 0, coalesce(before.has_reached, false), false) as had_reached,
        if(life = 0, coalesce(before.mismatch_count, 0), 0) as had_mismatches,
        case
            when not is_deletion then cast(
                sum(value) over (
                    partition by numbered.product, run
                    order by numbered._arrival
                ) + if(run = 0, coalesce(before.total, 0), 0)
                as decimal(38, 0)
            )
        end as reached
    from numbered
    left join before on numbered.product = before.product
),
judged as (
    select
        *,
        if(is_reset, cast(0 as decimal(38, 0)), reached) as total,
        had_reached or coalesce(max(reached >= :sales_threshold) over (
            partition by product, life order by _arrival
        ), false) as has_reached,
        had_reached or coalesce(max(reached >= :sales_threshold) over (
            partition by product, life order by _arrival
            rows between unbounded preceding and 1 preceding
        ), false) as reached_before,
        had_mismatches + count_if(product_differs) over (
            partition by product, life order by _arrival
        ) as mismatch_count
    from summed
),
changes as (
    select
        product,
        total,
        reached,
        lag(total, 1, total_at_start) over (
            partition by product order by _arrival
        ) as total_before,
        has_reached,
        has_reached and not reached_before as is_first_reach,
        mismatch_count,
        product_differs,
        is_deletion,
        sold_at as changed_at,
        _arrival
    from judged
)
select * from changes
