"""A card for every measure: what it is, what it needs, and what its numbers can be trusted with."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {"measure_card": ("Card", "card", "cards")},
)
