"""The two kinds of lease: `disk`, a file lock, and `object_store`, an object that its holder writes again and again."""
