"""What a project tells of itself to people and to catalogues: lineage, documentation, manifests."""
