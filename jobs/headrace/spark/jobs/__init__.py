"""Small batches as ordinary Spark jobs, by PySpark's public API alone.

Right on every Spark from 4.0 on, and slow: each batch is planned again, and each model is a job.
"""
