"""What leaves a store: data files that were replaced, and drafts that nobody completes."""
