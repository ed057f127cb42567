"""What an edit does to what is running: canonical forms of queries, compared with those that are live."""
