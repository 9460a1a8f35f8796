"""Encoding: documents and topics become vectors."""

from toolkit.retrieval.encode.corpus import SHARD, encode_corpus, encoding_facts
from toolkit.retrieval.encode.topics import encode_topics, write_topics_vectors

__all__ = ["SHARD", "encode_corpus", "encode_topics", "encoding_facts", "write_topics_vectors"]
