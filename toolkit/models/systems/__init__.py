"""The systems that are known: what is known of each, and exactly what each is sent."""

from toolkit.models.systems.explain import Explained, Sent, explain
from toolkit.models.systems.system_facts import GIB, listing, overview, weights

__all__ = ["GIB", "Explained", "Sent", "explain", "listing", "overview", "weights"]
