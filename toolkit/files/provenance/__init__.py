"""Where files come from: their records, read and verified, extended by a step, written with the file; identities of models."""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "compared_files": ("comparing",),
        "identity": ("file_digest", "model_identity", "topics_digest", "topics_facts"),
        "record": (
            "Output",
            "Provenance",
            "Recorded",
            "agreed",
            "command_line",
            "is_recorded",
            "last_step",
            "steps_of",
            "part",
            "read_record",
            "read_recorded",
            "record_of",
            "record_path",
            "system_name",
            "versions",
            "write_record",
        ),
        "naming": ("NamedRun", "run_names"),
    },
)
