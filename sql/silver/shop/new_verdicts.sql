/*
Verdicts of the shop's own checks as orders keep them: one row per order and check.
*/
select
    order_id,
    check_type,
    struct(_arrival, check_type, result, reason, checked_at as given_at)
        as verdict
from stream gold.order_checks
