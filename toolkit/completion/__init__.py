"""Completion of commands in a shell: commands, options, and the names that they take."""
