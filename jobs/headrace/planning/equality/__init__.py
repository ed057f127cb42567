"""Whether two texts of a query give the same rows, although their canonical forms differ.

`queries` compares two texts of a micro-batch query. `chains` is a text of joins and conditions that is the same for all
ways to write them, `row_order` says where the order of rows counts, and `unions` where that of branches does not.

Texts that are found the same give the same rows, the same number of times, whatever there is in the tables: nulls, NaN,
rows that are there several times. `tests/spark/test_rewrites.py` has Spark compute both sides of each kind.
"""
