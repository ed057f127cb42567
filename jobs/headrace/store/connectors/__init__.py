"""Hadoop's connectors, one a module: the options that each knows of a store's, and what they are for Hadoop."""
