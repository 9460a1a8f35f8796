"""Lucene and Anserini in a JVM, and what is computed as they compute it."""
