"""What each command does; the command line only parses, calls these and prints."""
