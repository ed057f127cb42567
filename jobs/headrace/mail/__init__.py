"""The sample sender: notices on a topic become letters to customers, one per order."""
