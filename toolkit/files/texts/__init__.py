"""Documents and topics in every form."""
