"""BERDS' further steps: passages that hold the perspectives of questions, with a label for each pair.

Items, by step (those before are in `contested_questions`):

    passages    question_id, question, perspectives, group, doc_id, title, text: `<question>/<document>`
    duplicates  the same without near-duplicates; one that was rejected has of (the document that stays) and jaccard
    label       question_id, question, perspective, number (from 1), doc_id, document (as the judge read it), holds:
                `<question>/<document>#<number>`
    covered     question, perspectives, group, labels (document -> 1 or 0 for each perspective)

Source: BERDS (arXiv 2409.18110): section 3 (what a document holds), appendix B.4 (near-duplicates).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from toolkit.construction.checks.near_duplicates import THRESHOLD, near_duplicates
from toolkit.construction.documents.candidate_pools import check_pool, pooled, searched, seed_group
from toolkit.construction.queries.narratives import nfc
from toolkit.construction.review.review_step import ReviewStep, said_of
from toolkit.construction.steps import UNREADABLE, Item, Step
from toolkit.construction.text_models import TextModel
from toolkit.construction.tools import Asked, Tools, find_prompt
from toolkit.core.documents import Doc
from toolkit.core.errors import ToolkitError
from toolkit.core.specs import SystemSpec
from toolkit.core.templates import doc_input
from toolkit.core.topics import Topic
from toolkit.models.judges import Judge, Pair, load_judge
from toolkit.models.judges.judge import Settings, Verdict
from toolkit.models.judges.loading import DEFAULT_PROMPTS, KIND, SUPPORT
from toolkit.registry.system_kinds import parameters_as

HOLDS = "holds"  # the question of the form by which people label; a pair's own label has the same name
BLOCK = 4096  # pairs


@dataclass(frozen=True)
class Passages(Step):
    """Passages that systems find for the questions, pooled: the first of every run, then the second of every run, and so on.

    systems   of the registry
    runs      files of runs in the build's folder, under the questions' ids
    depth     passages of each question and run
    size      passages of each question
    by_perspective   whether systems search for the question with each of its perspectives, too: what supports one side alone is
                     rarely found by the question
    """

    name: ClassVar[str] = "passages"
    about: ClassVar[str] = "passages that systems find, pooled"
    systems: tuple[str, ...] = ("bm25",)
    runs: tuple[str, ...] = ()
    depth: int = 10
    size: int = 20
    by_perspective: bool = True

    def __post_init__(self):
        check_pool(self.name, self.systems, self.runs, depth=self.depth, size=self.size)

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a passage of each question; a question without any is rejected."""
        topics = {topic.query_id: item.id for item in items for topic in self._topics(item)}
        asked = {seed_group(tools): [topic for item in items for topic in self._topics(item)]}
        runs = [run.head(self.depth) for run in searched(asked, tools, self.systems, self.files(tools.folder), self.depth)]
        pools = pooled(runs, topics, self.size)
        texts = tools.seeds.texts(sorted({doc_id for found in pools.values() for doc_id in found}))
        made = tools.made("filtered")
        for item in items:
            found = [texts[doc_id] for doc_id in pools.get(item.id, ()) if doc_id in texts]
            if not found:
                yield item.passed().by(made).reject("no passage was found")
            shared = {"question_id": item.id, **item.only("question", "perspectives", "group")}
            for doc in found:
                fields = {**shared, "doc_id": doc.doc_id, "title": nfc(doc.title), "text": nfc(doc.text)}
                yield Item(f"{item.id}/{doc.doc_id}", fields, (item.id,), (made,))

    def _topics(self, item: Item) -> list[Topic]:
        """The question, and the question with each perspective: `<id>`, `<id>.<n>`."""
        question = item.fields["question"]
        sides = item.fields["perspectives"] if self.by_perspective else ()
        more = [Topic(f"{item.id}.{n}", f"{question} {side}", f"{question} {side}") for n, side in enumerate(sides, 1)]
        return [Topic(item.id, question, question), *more]


@dataclass(frozen=True)
class Duplicates(Step):
    """Leaves out near-duplicates of passages; where a question has the copy alone, the passage that stays takes its place.

    threshold  Jaccard similarity from which on two passages are one, see `near_duplicates`
    """

    name: ClassVar[str] = "duplicates"
    about: ClassVar[str] = "near-duplicates of passages are left out"
    threshold: float = THRESHOLD

    def __post_init__(self):
        if not 0 < self.threshold <= 1:
            raise ToolkitError(f"step duplicates: a threshold of {self.threshold}", "a similarity above 0, at most 1")

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The passages; rejected ones name what they repeat."""
        passages = {item.fields["doc_id"]: item for item in items}
        texts = {doc_id: Doc("", item.fields["title"], item.fields["text"]).contents for doc_id, item in passages.items()}
        left_out = near_duplicates(texts, self.threshold)
        there = {item.id for item in items}
        made = tools.made("filtered")
        for item in items:
            pair = left_out.get(item.fields["doc_id"])
            if pair is None:
                yield item.passed().by(made)
                continue
            done = item.passed(of=pair.first, jaccard=round(pair.jaccard, 4)).by(made)
            yield done.reject("near-duplicate of another passage")
            name = f"{item.fields['question_id']}/{pair.first}"
            if name not in there:
                there.add(name)
                yield Item(name, {**item.fields, **passages[pair.first].only("doc_id", "title", "text")}, (item.id,), (made,))


@dataclass(frozen=True)
class Label(Step):
    """A judge says of each passage and perspective whether the passage holds it (`toolkit.models.judges`).

    model    a judge of the registry, or any language model; "" asks none: people label (`review`)
    wording  a prompt of kind `judge`, in place of the judge's own
    """

    name: ClassVar[str] = "label"
    about: ClassVar[str] = "which passage holds which perspective"
    model: str = "judge"
    wording: str = ""

    def judge_prompts(self, models: Mapping[str, TextModel]) -> tuple[str, ...]:
        """The wording, or the judge's own."""
        return (_prompt_name(models[self.model].spec, self.wording),) if self.model else ()

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """An item a passage and perspective."""
        judge = judge_of(self.model, self.wording, tools) if self.model else None
        pairs: list[Item] = []
        for item in items:
            doc = Doc(item.fields["doc_id"], item.fields["title"], item.fields["text"])
            document = doc_input(judge.spec.templates, doc).whole if judge else doc.contents
            for number, perspective in enumerate(item.fields["perspectives"], 1):
                row = item.only("question_id", "question", "doc_id") | {"perspective": perspective, "number": number}
                pairs.append(Item(f"{item.id}#{number}", {**row, "document": document}, (item.id,)))
        if judge is None:
            yield from pairs
            return
        chosen = tools.writers.models[self.model]
        made = {"role": "judged", "by": chosen.model, "family": chosen.family}
        made |= {"prompt": judge.prompt.name, "sha256": judge.prompt.sha256} if judge.prompt else {}
        for start in range(0, len(pairs), BLOCK):
            block = pairs[start : start + BLOCK]
            asked = [Pair(pair.fields["document"], pair.fields["perspective"]) for pair in block]
            for pair, verdict in zip(block, _verdicts(judge, asked, self.model, tools), strict=True):
                done = replace(pair, made=(made,), rejected="unanswered")
                if verdict.holds is not None:
                    rejected = UNREADABLE if judge.is_unclear(verdict) else ""
                    done = replace(done, fields={**pair.fields, HOLDS: verdict.holds}, rejected=rejected)
                yield done


def _verdicts(judge: Judge, pairs: Sequence[Pair], model: str, tools: Tools) -> list[Verdict]:
    """The verdicts, with what they took counted for the step's record."""
    usage = judge.llm.usage
    before = {name: getattr(usage, name) for name in ("requests", "cached", "failed", "prompt_tokens", "completion_tokens")}
    verdicts = judge.judge(pairs, tools.advance)
    asked = tools.asked.setdefault(model, Asked())
    for name, count in before.items():
        setattr(asked, name, getattr(asked, name) + getattr(usage, name) - count)
    tools.note_answered(model, [verdict.said if verdict.holds is None else "" for verdict in verdicts])
    return verdicts


def judge_of(name: str, wording: str, tools: Tools) -> Judge:
    """A model of the build as a judge: one of the registry as its entry says, any other asked for Yes or No."""
    model = tools.writers.models[name]
    spec = model.spec
    settings = parameters_as(Settings, spec) if spec.kind == KIND else Settings()
    if not settings.in_words:
        return load_judge(spec, prompt=wording or None, **tools.writers.how)
    prompt = find_prompt(_prompt_name(spec, wording), tools.folder, SUPPORT)
    return Judge(spec, tools.writers[name], prompt, replace(settings, **model.options))


def _prompt_name(spec: SystemSpec, wording: str) -> str:
    """What a model is asked with: the wording, else of a judge its own prompt, else the default."""
    return wording or (spec.parameters.get("prompt") if spec.kind == KIND else "") or DEFAULT_PROMPTS[SUPPORT]


@dataclass(frozen=True)
class Review(ReviewStep):
    """People label the same pairs: what the majority says counts, whatever the judge said."""

    about: ClassVar[str] = "people say which passage holds which perspective"
    form: str = "berds-support"


@dataclass(frozen=True)
class Covered(Step):
    """Questions of which enough perspectives are held by some passage. A passage with a pair that has no label is left out.

    least  perspectives that a passage each, or one for all, has to hold
    """

    name: ClassVar[str] = "covered"
    about: ClassVar[str] = "questions with enough perspectives that some passage holds"
    counted: ClassVar[tuple[str, ...]] = ("least",)
    reads: ClassVar[tuple[str, ...]] = ("perspectives", "duplicates")
    least: int = 1

    def run(self, items: Sequence[Item], tools: Tools) -> Iterator[Item]:
        """The questions with the labels of their passages."""
        labels: dict[str, dict[str, dict[int, bool]]] = {}
        sources: dict[str, list[str]] = {}
        for pair in items:
            question, doc_id = pair.fields["question_id"], pair.fields["doc_id"]
            sources.setdefault(question, []).append(pair.id)
            if (held := said_of(pair, HOLDS)) is not None:
                labels.setdefault(question, {}).setdefault(doc_id, {})[pair.fields["number"]] = held
        searched_for = {passage.fields["question_id"] for passage in tools.step("duplicates")}
        for question in tools.step("perspectives"):
            if question.id not in searched_for:
                continue
            count = len(question.fields["perspectives"])
            own = labels.get(question.id, {}).items()
            whole = {doc_id: [int(held[n]) for n in sorted(held)] for doc_id, held in own if len(held) == count}
            covered = sum(map(any, zip(*whole.values(), strict=True))) if whole else 0
            fields = question.only("question", "perspectives", "group") | {"labels": whole}
            why = f"fewer than {self.least} perspectives are held by a passage" if covered < min(self.least, count) else ""
            made_of = (question.id, *sources.get(question.id, ()))
            yield Item(question.id, fields, made_of, (tools.made("filtered"),)).reject(why)

    def figures(self, items: Iterable[Item]) -> Mapping[str, Mapping[str, int]]:
        """How many questions have how many perspectives that no passage holds."""
        lacking: Counter[int] = Counter()
        for item in items:
            held = [any(each) for each in zip(*item.fields["labels"].values(), strict=True)]
            lacking[len(item.fields["perspectives"]) - sum(held)] += 1
        return {"perspectives that no passage holds": {str(number): count for number, count in sorted(lacking.items())}}
