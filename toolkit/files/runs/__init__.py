"""Run files in every form, and the linter."""
