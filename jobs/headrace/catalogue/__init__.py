"""A project described for people and for catalogues: lineage, documentation, manifests."""
