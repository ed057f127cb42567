"""The canonical form of a query: steps over tables, and each output column as an expression over their columns.

`lowering` takes the text of a model apart, with the CTEs and views that it reads: `scope` and `columns` say what a name
stands for, `grouping` what an aggregation makes, and the result are the `steps`. `terms` are expressions in one form:
`variables` puts values in place of parameters, `durations` and `members` write intervals and parts of values in one
way, `rewrites`, `aggregates` and `truths` what is written in several. `types` knows the type of an expression where it
is certain without Spark, and `arrivals` which rows have an arrival of their own.

Two forms with the same keys mean the same. What has no form here is not understood, and never taken for the same.
"""
