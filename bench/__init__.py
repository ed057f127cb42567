"""Speed and memory of the shipping system, beside hand-written PySpark on the same broker in the same run."""
