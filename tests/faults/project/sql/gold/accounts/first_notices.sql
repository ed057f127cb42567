/*
The first notice of each account: one row per account that ever had one.

once_per: account
query: counts
*/
with notices as (
    select account, balance, _arrival from stream gold.notices
)
select * from notices
