create temporary function plus(v bigint) returns bigint
return aggregate(array(10L, 20L), 0L, (total, item) -> total + item + v)
