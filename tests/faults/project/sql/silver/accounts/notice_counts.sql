/*
Notices counted: one row per account that had one.

unique_key: account
query: counts
keep: 1h
*/
with notices as (
    select account, amount, _arrival from stream gold.notices
),
before as (
    select account, notices, amount from silver.notice_counts
),
counted as (
    select
        account,
        count(*) as notices,
        sum(amount) as amount,
        max(_arrival) as _arrival
    from notices
    group by account
),
totals as (
    select
        counted.account,
        counted.notices + coalesce(before.notices, 0) as notices,
        counted.amount + coalesce(before.amount, 0) as amount,
        counted._arrival
    from counted
    left join before on counted.account = before.account
)
select * from totals
