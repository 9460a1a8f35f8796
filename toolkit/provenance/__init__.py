"""Where files come from: their records, read and verified, extended by a step, written with the file; identities of models."""

from toolkit.provenance.environment import command_line, versions
from toolkit.provenance.identity import file_digest, model_identity, topics_digest, topics_facts
from toolkit.provenance.record import (
    Provenance,
    Recorded,
    agreed,
    last_step,
    part,
    read_record,
    read_recorded,
    record_of,
    record_path,
    system_name,
    write_record,
    write_recorded,
)

__all__ = [
    "Provenance",
    "Recorded",
    "agreed",
    "command_line",
    "file_digest",
    "last_step",
    "model_identity",
    "part",
    "read_record",
    "read_recorded",
    "record_of",
    "record_path",
    "system_name",
    "topics_digest",
    "topics_facts",
    "versions",
    "write_record",
    "write_recorded",
]
