"""Tables: rows in columns of arrow, aligned text, and the forms in which a table is written."""
