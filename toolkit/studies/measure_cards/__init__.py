"""A card for every measure: what it is, what it needs, and what its numbers can be trusted with."""
