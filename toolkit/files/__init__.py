"""Bytes <-> nouns: runs, texts and records in every form, TANDEM_HOME, downloads and archives."""
