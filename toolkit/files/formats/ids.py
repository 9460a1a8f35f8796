"""What an id may be so that a line that holds it can be read back."""

from collections.abc import Iterable

from toolkit.core.errors import ToolkitError
from toolkit.core.system.lazy_names import compute, pyarrow
from toolkit.core.tables.columns import to_arrow

# RE2's \s knows no vertical tab
_UNREADABLE = {"query_id": r"^$|[\t\n\v\f\r \x00]|^[#" + "\ufeff]"}
_WHITE = r"^$|[\t\n\v\f\r \x00]"


def check_ids(name: str, ids: Iterable[str]) -> None:
    """Raise ToolkitError for an id that is empty or holds white space, and for a query id that would start a comment.

    name  `query_id`, `doc_id`, `iteration` or `tag`, for the message
    """
    ids = ids if isinstance(ids, pyarrow.Array) else to_arrow(ids)
    bad = ids.filter(compute.match_substring_regex(ids, _UNREADABLE.get(name, _WHITE)))
    if len(bad):
        raise ToolkitError(
            f"{name} {bad[0].as_py()!r} cannot stand in a TREC file",
            "ids and tags are not empty and hold no white space; query ids do not begin with #",
        )
