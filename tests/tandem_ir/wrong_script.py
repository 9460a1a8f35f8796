"""What a type checker has to find (`test_types.py`), a mistake a line that says so; it is never run."""

import tandem_ir as tandem

run = tandem.search("infosearch-mini", hits="100")  # wrong: a text for a number
tandem.evaluate(run, benchmark="infosearch-mini", missing="none")  # wrong: no choice
tandem.rerank(run, object())  # wrong: nothing of it reranks
tandem.diff(run, run, measure="WISE@20")  # wrong: no parameter
tandem.report(run, "infosearch-mini").show()  # wrong: no method
