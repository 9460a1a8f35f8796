"""The only place that touches the JVM, torch, FAISS or a model's HTTP API. Importing it loads none of them."""

from typing import Any

from toolkit.registry.choice import RESOLVERS
from toolkit.registry.choice import choose_system as choose_system  # from here names of MTEB's registry are known, too


def _of_mteb(name: str) -> tuple[Any, dict[str, Any]]:
    from toolkit.models.checkpoints.mteb_models import of_name

    return of_name(name)


RESOLVERS["mteb:"] = _of_mteb
