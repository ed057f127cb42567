"""Growth: values that hold what they are made of again and again, and folds and recursion that double what they carry.

A hundred doublings make more than any memory holds. What `aggregate` carries from one element to the next may grow by
what the element adds. Where a step puts the same part of it in twice, or writes it longer (`hex`, `replace`), it grows
by a factor. So does a column of a query that is made of one before it, by an alias, a CTE or a subquery. This is judged
by what stands in the text, as far as that shows it: how often a letter that is replaced occurs, and how many elements a
row has, is not known.

- `folds`: what grows by a factor in each step of a fold or a recursion.
- `queries`: how often the columns of a query hold a column of the tables that it reads, through all its subqueries.
- `parts`: how often a value contains each part of what is known.
- `lengths`: how much longer than its arguments the result of a function may be.
"""
