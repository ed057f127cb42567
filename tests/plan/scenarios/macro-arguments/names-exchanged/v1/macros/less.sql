create temporary function less(v bigint, w bigint) returns bigint return v - w
