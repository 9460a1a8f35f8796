"""What a benchmark rewards beside what it means to: surface cues, instructions without effect, near-duplicates, circularity."""
