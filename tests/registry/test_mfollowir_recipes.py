"""How mFollowIR ran its 18 systems, by section 4.3 of the paper: lengths are MTEB's, cross-encoders and 7B models in bf16."""

from toolkit import registry

SHORT = 512  # tokens: what the paper calls older models, DPR and Contriever among them
NEW = 1024  # tokens: the least that it says of the others
# the row of tables 3 and 4 -> least tokens of a text (of a pair, for a cross-encoder), and the precision; where the paper
# states none, sentence-transformers' own, which is fp32
ROWS = {
    "mContriever-msmarco": (SHORT, "fp32"),
    "mDPR-tied-PFT": (SHORT, "fp32"),
    **dict.fromkeys(("mE5-small", "mE5-base", "mE5-large"), (SHORT, "fp32")),  # their tables have 512 positions
    # MTEB's loader of both sets 512, "as they did" it in their own evaluation
    **dict.fromkeys(("RepLLaMA", "Promptriever-Llama2", "Promptriever-Llama3.1"), (SHORT, "bf16")),
    **dict.fromkeys(("GTE-multilingual-base", "Nomic-Embed"), (NEW, "fp32")),
    **dict.fromkeys(("E5-Mistral-Instruct-7B", "SFR-Embedding-2-R", "GritLM-7B"), (NEW, "bf16")),
    **dict.fromkeys(("Jina-reranker-v2-multi", "BGE-reranker-v2-m3", "mT5-13B-mmarco-100k"), (NEW, "bf16")),
    **dict.fromkeys(("Mistral-7B-Instruct", "FollowIR-7B"), (NEW, "bf16")),
}
ONLY = {name for name, (length, _) in ROWS.items() if length == SHORT}  # these are sent no more


def test_every_row_has_the_length_and_the_precision_of_section_4_3():
    systems = [spec for spec in registry.systems().values() if "mfollowir" in spec.papers]
    assert {spec.printed["mfollowir"]["name"] for spec in systems} == set(ROWS)
    for spec in systems:
        row = spec.printed["mfollowir"]["name"]
        parameters = spec.with_recipe("mfollowir").parameters if "mfollowir" in spec.recipes else spec.parameters
        lengths = {parameters[name] for name in ("length", "query_length", "passage_length") if name in parameters}
        length, precision = ROWS[row]
        assert min(lengths) >= length, spec.name
        assert (max(lengths) == SHORT) == (row in ONLY), spec.name
        assert parameters["precision"] == precision, spec.name
