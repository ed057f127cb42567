"""The commands for edited queries: what an edit does to their state, and how to put it into effect.

`plan` gives the verdict on each edit, and `upgrade` tries one on a copy of what is stored.
`rebuild` computes a query again next to the running one and swaps the two; `reset` starts it over.
`differences` describes how two versions of rows differ.
"""
