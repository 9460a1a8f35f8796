"""What is known of a built benchmark and its items."""
