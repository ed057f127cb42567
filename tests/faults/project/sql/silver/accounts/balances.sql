/*
Balances: one row per account, one change per payment.

materialized: upsert
unique_key: account
delete_when: is_closing
query: balances
*/
with payments as (
    select account, amount, is_closing, _arrival from stream silver.payments
),
before as (
    select account, balance from silver.balances
),
numbered as (
    select
        *,
        count_if(is_closing) over (
            partition by account order by _arrival
        ) as life
    from payments
),
balances as (
    select
        numbered.account,
        sum(numbered.amount) over (
            partition by numbered.account, life order by numbered._arrival
        ) + if(life = 0, coalesce(before.balance, 0), 0) as balance,
        numbered.amount,
        numbered.is_closing,
        numbered._arrival
    from numbered
    left join before on numbered.account = before.account
)
select * from balances
