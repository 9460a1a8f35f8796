"""What scores alone do not show: order and wording of instructions, overlap, coverage, stance, agreement, power.

Each `..._tables` takes files and names, as `tandem analyze` does, and gives tables; what it computes is the function beside it.
"""

from toolkit.core.system.lazy_names import lazy_names

__getattr__, __all__ = lazy_names(
    __name__,
    {
        "coverage": ("coverage_tables",),
        "crosslingual": ("crosslingual_tables",),
        "dimensions": ("dimension_tables",),
        "diversity": ("diversity_tables",),
        "order": ("order_tables",),
        "overlap": ("overlap_tables",),
        "paraphrase": ("paraphrase_tables",),
        "power": ("power_tables",),
        "stance": ("stance_tables",),
        "toolkit.evaluation.scores.evaluation": ("agreement_tables",),
    },
)
