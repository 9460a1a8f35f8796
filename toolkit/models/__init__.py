"""The only place that touches the JVM, torch, FAISS or a model's HTTP API. Importing it loads none of them."""

from importlib import import_module

from toolkit.registry.choice import RESOLVERS
from toolkit.registry.choice import choose_system as choose_system  # from here names of MTEB's registry are known, too

RESOLVERS["mteb:"] = lambda name: import_module("toolkit.models.checkpoints.mteb_models").of_name(name)
