"""Scores of a run in the form of MTEB's `TaskResult`, which MTEB and what reads its results load."""

import json

from toolkit.core.errors import ToolkitError
from toolkit.core.scores import AVERAGE, PAIRED, Score, Scores
from toolkit.datasets import find, load
from toolkit.files.provenance import versions

SPLIT = "test"
# a group's language in the registry -> as MTEB writes it; where an entry states none its texts are English
LANGUAGES = {"en": "eng-Latn", "fa": "fas-Arab", "ru": "rus-Cyrl", "zh": "zho-Hans"}


def to_mteb(scores: Scores, benchmark: str | None) -> str:
    """The scores of one run as the JSON of a `TaskResult`: a subset for each group, the first measure is its main score.

    A score is called `nDCG@10 ins`, or by its measure alone where it is over several modes. Averages over groups are MTEB's to
    make. Raises ToolkitError for several runs.
    """
    runs = list(dict.fromkeys(row.run for row in scores.rows))
    if len(runs) != 1:
        raise ToolkitError(f"a result of MTEB is of one run, not of {len(runs)}", "write a file for each run")
    selection = find(benchmark) if benchmark else None
    spec = load(selection.benchmark).spec if selection else None
    groups: dict[str, list[Score]] = {}
    for row in scores.rows:
        if not row.query_id and row.group != AVERAGE and row.value == row.value:  # JSON has no NaN
            groups.setdefault(row.group, []).append(row)
    subsets = []
    for group, rows in groups.items():
        named = {row.measure if row.mode in (PAIRED, "") else f"{row.measure} {row.mode}": row.value for row in rows}
        language = next((each.get("language", "en") for each in spec.groups if each["name"] == group), "en") if spec else "en"
        languages = [LANGUAGES.get(language, language)]
        subsets.append({"main_score": rows[0].value, **named, "hf_subset": group, "languages": languages})
    revisions = [each["revision"] for each in spec.groups if each.get("revision")] if spec else []
    result = {
        "dataset_revision": " ".join(dict.fromkeys(revisions)),
        "task_name": selection.name if selection else benchmark or "qrels",
        "mteb_version": versions(["mteb"]).get("mteb"),
        "scores": {SPLIT: subsets},
        "evaluation_time": None,
        "kg_co2_emissions": None,
    }
    return json.dumps(result, indent=2) + "\n"
