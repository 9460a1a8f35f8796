"""The nouns that go all the way through: topics, qrels, runs, scores, specs; errors and progress."""
