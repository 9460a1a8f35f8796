"""The readers of the minis: benchmarks written for this project, in readable files of their own (`toolkit/datasets/corpora/`).

A module has `NEEDED` (keys of a group's entry, texts) and `read(spec, group) -> Part`; an entry's `layout` names it, and one
line here makes it known. It may have `checks(part, group)`, as a published layout may (see `layouts`).
"""

# layout -> module
MINIS = {"berds-mini": "berds", "infosearch-mini": "infosearch", "instructir-mini": "instructir", "mfollowir-mini": "mfollowir"}
