/*
Last payments: one row per account that is open; replaced changes leave.

unique_key: account
delete_when: is_closing
query: balances
keep: 1h
*/
select account, amount, is_closing, _arrival from stream silver.payments
