"""Models behind HTTP servers: one way of asking, vectors and scores of answers; `toolkit.registry.server_forms` has forms."""
