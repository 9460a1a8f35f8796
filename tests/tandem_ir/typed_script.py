"""What a user writes, with types: it has to check clean (`test_types.py`); it is never run."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

import tandem_ir as tandem


class Overlap:
    """A reranker of one's own."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Words in common."""
        return [float(len(set(query.split()) & set(doc.split()))) for query, doc in pairs]


benchmark = tandem.load("infosearch-mini")
mine = tandem.load(
    Path("mine"),
    docs={"d1": "red apples"},
    topics=pd.DataFrame([{"id": "q", "query": "apples"}]),
    qrels=[("q", "d1", 1)],
    modes={"base": "base"},
)
bm25: tandem.Run = tandem.search("infosearch-mini", system="bm25", k1=1.2, hits=100, threads=2)
again = tandem.search({"q": "apples"}, "index", rerank=Overlap(), depth=20, output=Path("run.trec"))
steps = tandem.search(["a.tsv", "b.tsv"], system=tandem.Retrieve("bm25") >> tandem.Rerank("bge-reranker-v2-m3"))
reranked = tandem.rerank(bm25, Overlap(), topics="infosearch-mini", tail="drop", device="cpu", batch_size=8)
fused = tandem.fuse({"bm25": bm25, "mine": {"q": {"d1": 1.0}}}, "rrf:k=60")
diverse = tandem.diversify("run.trec", lam=0.75, normalisation="release", system="all-minilm-l6-v2")
topics: list[tandem.Topic] = tandem.expand("berds-mini", "given", query="question+perspective")
qrels: tandem.Qrels = tandem.judge([bm25, "other.trec"], "nli", topics="berds-mini", replay=True, engine="ray", workers=2)
folder: Path = tandem.index("corpus.jsonl", Path("index"), type="faiss", system="all-minilm-l6-v2", precision="fp16")
vectors: Path = tandem.encode(None, "all-minilm-l6-v2", "queries", topics=pd.DataFrame([{"id": "q", "query": "apples"}]))
scores: tandem.Scores = tandem.evaluate(bm25, reranked, benchmark="infosearch-mini", measures="WISE@20 nDCG@10", missing="skip")
by_hand = tandem.evaluate({"a": bm25, "b": "b.trec"}, qrels=[("q", "d1", 1)], by_query=True)
differences: pd.DataFrame = tandem.diff(bm25, reranked, benchmark="infosearch-mini", test="randomisation", seed=1).to_frame()
passed: bool = tandem.gate(bm25, reranked, min_effect={"WISE@20": 0.05}, primary=["WISE@20"]).passed(strict=True)
page = tandem.report([bm25, reranked], ["infosearch-mini"], baseline="bm25", x="seconds", output="report.html")
tandem.report({"a": bm25}, "infosearch-mini", format="latex", width="column").save("table.tex")
tandem.plot("slopes", [bm25, reranked], "infosearch-mini", baseline="bm25").save("figure.pdf")
results = tandem.experiment(
    "bm25", ["infosearch-mini"], output="mine", rerank=["bge-reranker-v2-m3"], rerank_kind="cross-encoder"
)
outcome = tandem.reproduce("infosearch", systems=["bm25"], loader="endpoint", timeout=30.0)
written = tandem.report_site(["bm25.trec"], "infosearch-mini", output="public", pairs=[("bm25", "e5")])
card = tandem.measure_card("WISE").title
text: str = tandem.cite("run.trec", measures=["WISE"]).text
problems: list[str] = tandem.check_system(Overlap())
