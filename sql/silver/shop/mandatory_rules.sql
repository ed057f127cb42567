/*
Names of the mandatory rules, sorted, as they change in a batch: one row per period of arrival, the first from before
the batch.
*/
with before as (
    select sort_array(collect_list(name)) as names
    from silver.validation_rules
    where is_mandatory
),
changes as (
    select
        _arrival as valid_from,
        collect_list(
            struct(_arrival, name, is_mandatory and not _deleted as is_added)
        ) over (order by _arrival) as so_far
    from stream silver.validation_rules
),
sets as (
    select null as valid_from, names from before
    union all
    select
        changes.valid_from,
        sort_array(aggregate(
            sort_array(changes.so_far),
            before.names,
            (names, change) -> if(
                change.is_added,
                array_union(names, array(change.name)),
                array_remove(names, change.name)
            )
        ))
    from changes
    cross join before
),
periods as (
    select
        valid_from,
        lead(valid_from) over (order by valid_from) as valid_until,
        names
    from sets
)
select * from periods
