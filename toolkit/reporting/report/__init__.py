"""What a report says: its model, its findings, its page."""
