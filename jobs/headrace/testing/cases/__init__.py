"""A case: what lands, batch by batch, and the rows that are expected.

A case is a YAML file (`case`, `casefiles`). Its records become what Kafka would hold (`records`) and land as the
ingest query lands them (`landing`). Whatever ran it gives an `outcome`, which `comparison` compares cell by cell.
Nothing here runs a query.
"""
