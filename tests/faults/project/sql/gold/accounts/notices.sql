/*
Payments that leave a balance at the target or beyond: one row per such payment.

materialized: append
query: balances
publish: {topic: notices, key: account, value: {balance: balance, amount: amount}}
*/
with balances as (
    select account, balance, amount, is_closing, _arrival
    from stream silver.balances
),
notices as (
    select account, balance, amount, _arrival
    from balances
    where not is_closing and balance >= :target
)
select * from notices
