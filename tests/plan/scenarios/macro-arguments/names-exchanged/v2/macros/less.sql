create temporary function less(w bigint, v bigint) returns bigint return w - v
