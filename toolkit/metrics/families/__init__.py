"""What each family of measures computes: paired modes, exclusion, perspectives, diagnostics."""
