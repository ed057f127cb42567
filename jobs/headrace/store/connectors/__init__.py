"""Hadoop's connectors, one a module: the options that each knows of object_store's, and what they are for Hadoop."""
