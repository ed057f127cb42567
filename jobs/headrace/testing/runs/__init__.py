"""A run: landed batches, cut into micro-batches, go through the queries of some models.

`memory` runs a group without tables, `disk` over real tables, with restarts and crashes; `trial` takes the cheaper one
that a model allows. All runs of a process share one Spark session (`sandbox`), and plans, too (`plan_pool`).
Each of them gives an `Outcome`.
"""
