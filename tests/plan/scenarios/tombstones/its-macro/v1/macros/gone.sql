create temporary function gone(v bigint) returns boolean return v > 1
