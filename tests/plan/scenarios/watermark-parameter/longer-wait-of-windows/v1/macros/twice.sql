create temporary function twice(v bigint) returns bigint return v * 2
