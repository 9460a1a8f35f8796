"""Near-duplicates: planted ones are found within a group and across groups, texts that are merely of one topic are not."""

import json

import numpy as np
import pytest
from planted_folders import planted

from toolkit.construction.checks.judged_texts import judged_texts
from toolkit.construction.checks.near_duplicates import DOCUMENTS, MEANING, QUERIES, SHINGLES, near_duplicates_in, texts_of
from toolkit.core.errors import ToolkitError
from toolkit.retrieval.diversify.embeddings import Embedded, SystemVectors


def rewritten(folder, change):
    """The corpus with other texts: change(doc_id, texts) -> text."""
    path = folder / "corpus.jsonl"
    texts = {row["id"]: row["text"] for row in map(json.loads, path.read_text().splitlines())}
    rows = [{"id": doc, "text": change(doc, texts)} for doc in texts]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def pairs_of(folder, **how):
    return near_duplicates_in(list(judged_texts(str(folder))), **how)


def test_random_texts_of_one_topic_are_no_duplicates(tmp_path):
    assert pairs_of(planted(tmp_path / "mine", groups=2, unrelated=20)) == []


def test_a_planted_duplicate_is_found_within_and_across_groups(tmp_path):
    folder = planted(tmp_path / "mine", groups=2)
    copies = {"d2-0": "d0-0", "d3-1": "d0-1"}  # q0 and q2 are of one group, q3 of the other
    rewritten(folder, lambda doc, texts: texts[copies.get(doc, doc)] + (" and more" if doc in copies else ""))
    found = {(pair.first.item_id, pair.second.item_id): pair for pair in pairs_of(folder)}
    assert sorted(found) == [("d0-0", "d2-0"), ("d0-1", "d3-1")]
    assert all((pair.what, pair.by, pair.opposed) == (DOCUMENTS, SHINGLES, "") for pair in found.values())
    assert all(0.9 < pair.similarity < 1 for pair in found.values())


def test_the_similarity_is_that_of_the_characters(tmp_path):
    # runs of five characters: of "abcdefghij" 6, of "abcdefghijk" 7, shared 6
    texts = {"d0-0": "abcdefghij", "d0-1": "abcdefghijk", "d0-2": "something else", "d0-3": "and a fourth one"}
    folder = rewritten(planted(tmp_path / "mine", cores=1), lambda doc, _: texts[doc])
    [pair] = pairs_of(folder)
    assert (pair.first.item_id, pair.second.item_id, pair.similarity) == ("d0-0", "d0-1", pytest.approx(6 / 7))


def test_one_text_with_two_labels_is_a_contradiction(tmp_path):
    folder = rewritten(planted(tmp_path / "mine", cores=2), lambda doc, texts: texts["d0-0"] if doc == "d0-2" else texts[doc])
    [pair] = pairs_of(folder)
    assert (pair.first.item_id, pair.second.item_id, pair.similarity) == ("d0-0", "d0-2", 1)
    assert (pair.opposed, pair.is_contradictory) == ("q0-pos", True)


def test_a_text_that_differs_a_little_may_have_another_label(tmp_path):
    folder = rewritten(
        planted(tmp_path / "mine", cores=2), lambda doc, texts: f"{texts['d0-0']} not" if doc == "d0-2" else texts[doc]
    )
    [pair] = pairs_of(folder)
    assert (pair.opposed, pair.is_contradictory) == ("q0-pos", False)


def test_queries_are_compared_as_core_queries(tmp_path):
    folder = planted(tmp_path / "mine", groups=2)
    path = folder / "topics.jsonl"
    rows = list(map(json.loads, path.read_text().splitlines()))
    rows[3]["query"] = rows[0]["query"].upper()
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    [pair] = pairs_of(folder)
    assert (pair.what, pair.first.group, pair.second.group, pair.similarity) == (QUERIES, "g0", "g1", 1)


def test_documents_that_groups_share_are_compared_once(tmp_path):
    groups = list(judged_texts(str(planted(tmp_path / "mine", groups=4))))
    assert len(groups) == 4
    assert len(texts_of(groups)[DOCUMENTS]) == 64
    assert len(texts_of(groups)[QUERIES]) == 16


def test_a_document_that_two_corpora_have_is_one_and_another_text_of_its_id_is_not(tmp_path):
    folder = planted(tmp_path / "mine", groups=2)
    lines = (folder / "corpus.jsonl").read_text().splitlines(keepends=True)
    (folder / "corpus.jsonl").unlink()
    (folder / "corpus.g0.jsonl").write_text("".join(lines))
    (folder / "corpus.g1.jsonl").write_text("".join(lines))
    assert pairs_of(folder) == []
    row = json.loads(lines[5])
    lines[5] = json.dumps(row | {"text": f"{row['text']} and more"}) + "\n"
    (folder / "corpus.g1.jsonl").write_text("".join(lines))
    [pair] = pairs_of(folder)
    assert (pair.first.item_id, pair.second.item_id) == (row["id"], row["id"])
    assert (pair.first.group, pair.second.group) == ("g0", "g1")


def test_of_many_texts_some_are_compared_whatever_their_order(tmp_path):
    groups = list(judged_texts(str(planted(tmp_path / "mine"))))
    chosen = {text.item_id for text in texts_of(groups, most=10)[DOCUMENTS]}
    assert len(chosen) == 10
    rewritten(tmp_path / "mine", lambda doc, texts: texts[doc])
    path = tmp_path / "mine" / "corpus.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    again = list(judged_texts(str(tmp_path / "mine")))
    assert {text.item_id for text in texts_of(again, most=10)[DOCUMENTS]} == chosen


@pytest.mark.parametrize("how", [{"threshold": 0}, {"threshold": 1.5}, {"dense": True, "cosine": 0}])
def test_a_similarity_that_is_none_is_refused(tmp_path, how):
    with pytest.raises(ToolkitError, match="near-duplicates"):
        pairs_of(planted(tmp_path / "mine", cores=1), **how)


def test_pairs_of_close_vectors_are_found_once_and_not_again_by_characters(tmp_path, monkeypatch):
    """d0-0 and d1-0 point the same way, in whatever length; d0-1 is at 60 degrees to them, all others are further off."""
    folder = planted(tmp_path / "mine", cores=2)
    texts = {row["text"]: row["id"] for row in map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())}
    degrees = {"d0-0": 0, "d1-0": 0, "d0-1": 60}

    def embed(self, wanted):
        places = wanted[0].doc_ids[::-1]  # vectors may stand in another order than texts
        angles = [degrees.get(texts.get(wanted[0].texts[place].text), 150 + 7 * int(place)) for place in places]
        turned = np.radians(angles) if len(places) > 2 else np.radians([0, 90])  # of the two queries
        lengths = 1 + np.arange(len(turned))[:, None]
        vectors = lengths * np.stack([np.cos(turned), np.sin(turned)], axis=1)
        return Embedded(vectors.astype(np.float32), {"": {place: row for row, place in enumerate(places)}})

    monkeypatch.setattr(SystemVectors, "embed", embed)
    [pair] = pairs_of(folder, dense=True, cosine=0.999)
    assert (pair.first.item_id, pair.second.item_id, pair.by) == ("d0-0", "d1-0", MEANING)
    assert pair.similarity == pytest.approx(1)
    wider = {(pair.first.item_id, pair.second.item_id) for pair in pairs_of(folder, dense=True, cosine=0.49)}
    assert {("d0-0", "d1-0"), ("d0-0", "d0-1"), ("d0-1", "d1-0")} <= wider
    rewritten(folder, lambda doc, known: known["d0-0" if doc == "d1-0" else doc])
    [pair] = pairs_of(folder, dense=True, cosine=0.999)
    assert (pair.first.item_id, pair.second.item_id, pair.by) == ("d0-0", "d1-0", SHINGLES)


@pytest.mark.model
def test_a_paraphrase_is_found_by_meaning(tmp_path):
    said = {"d0-0": "The cat sat on the mat all day long.", "d1-0": "All day long, a cat was sitting on the mat."}
    other = {"d0-1": "Interest rates rose by a quarter of a point.", "d1-1": "Bring water to the boil and add salt."}
    texts = {**said, **other, "d0-2": "Copper conducts heat well.", "d0-3": "The match ended in a draw."}
    texts |= {"d1-2": "Volcanoes build islands.", "d1-3": "She plays the oboe."}
    folder = rewritten(planted(tmp_path / "mine", cores=2), lambda doc, _: texts[doc])
    assert [pair for pair in pairs_of(folder) if pair.what == DOCUMENTS] == []
    [pair] = [pair for pair in pairs_of(folder, dense=True, cosine=0.8) if pair.what == DOCUMENTS]
    assert (pair.first.item_id, pair.second.item_id, pair.by) == ("d0-0", "d1-0", MEANING)
    assert 0.8 <= pair.similarity < 1
