"""Encoding: documents and topics become vectors."""

from toolkit.retrieval.encode.encoding import SHARD, encode_corpus, encode_topics, encoding_facts, write_topics_vectors

__all__ = ["SHARD", "encode_corpus", "encode_topics", "encoding_facts", "write_topics_vectors"]
