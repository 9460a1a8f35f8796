"""Encoding: documents and topics become vectors."""

from toolkit.encode.corpus import SHARD, Counts, encode_corpus
from toolkit.encode.topics import encode_topics, write_topics_vectors
from toolkit.encode.vector_facts import encoding_facts

__all__ = ["SHARD", "Counts", "encode_corpus", "encode_topics", "encoding_facts", "write_topics_vectors"]
