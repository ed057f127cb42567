/*
Amounts and answers: one row per record.
*/
select k, at, at as came from stream silver.a
union all
select k, at, at as came from stream silver.b
