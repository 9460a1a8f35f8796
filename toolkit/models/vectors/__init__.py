"""Nearest neighbours: FAISS, late interaction, impacts."""
