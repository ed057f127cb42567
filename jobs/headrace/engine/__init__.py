"""What runs: sessions, Delta tables, landing, models and the publisher."""
