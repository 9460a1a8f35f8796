"""Models behind HTTP servers: one way of asking (`client`), and the forms of request and answer that servers have (`apis`)."""
