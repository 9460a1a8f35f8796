"""Review by people: forms as data, a page that needs no network, and what the answers decide."""
