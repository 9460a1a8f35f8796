"""The only place that touches the JVM, torch, FAISS or a model's HTTP API. Importing it loads none of them."""
