"""What Tandem stores on this machine: its home, locks between processes, checked downloads, safe unpacking."""

from toolkit.core.system.files import home
from toolkit.files.store.bounded_http import reason, without_secrets
from toolkit.files.store.download import check_room, download, fetch_index, fetched_files, index_folder, shown, with_mirror
from toolkit.files.store.sharing import lock, lock_folder, new_folder

__all__ = [
    "check_room",
    "download",
    "fetch_index",
    "fetched_files",
    "home",
    "index_folder",
    "lock",
    "lock_folder",
    "new_folder",
    "reason",
    "shown",
    "with_mirror",
    "without_secrets",
]
