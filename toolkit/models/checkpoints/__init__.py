"""Checkpoints: where they lie, which forms they have, what is loaded of them and what is not."""
