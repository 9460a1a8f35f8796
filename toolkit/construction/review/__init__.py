"""Review by people: forms as data, a page that needs no network, Label Studio's files, and what the answers decide."""
