"""Tables of scores as text, in pages and in LaTeX."""
