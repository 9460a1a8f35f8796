"""The machine that runs this: files, memory, terminal, progress, TANDEM_HOME, YAML and JSON, lazy imports."""
