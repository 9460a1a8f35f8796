"""Which numbers a comparison is decided by: a benchmark's leading number, or those that a user names."""

from collections.abc import Sequence

from toolkit import metrics as tandem
from toolkit import registry
from toolkit.core.errors import ToolkitError, three
from toolkit.core.modes import BASE, REVERSED, Modes
from toolkit.evaluation.scores.scoring import is_ranked

Number = tuple[str, str]  # measure and mode
# what says most of how instructions are followed, or else of how well is searched: InfoSearch has WISE, FollowIR and mFollowIR
# p-MRR, InstructIR Robustness, BERDS MRecall, and where no paper fixes one, what no control raises (FollowTable)
LEADING = ("WISE", "pMRR", "SICR", "Robustness", "MRecall", "Following_selection")


def leading_number(numbers: Sequence[Number], modes: Modes) -> Number:
    """The first of `LEADING` among a table's numbers, instructed where it has one mode; else the first that can be better."""
    ranked = [number for number in numbers if is_ranked(*number, modes)]
    of_base = modes.of(BASE, REVERSED)
    found = (number for name in LEADING for number in ranked if _name(number) == name and number[1] not in of_base)
    return next(found, (ranked or list(numbers))[0])


def primary_numbers(numbers: Sequence[Number], modes: Modes, named: Sequence[str] = ()) -> list[Number]:
    """Those of a table that are marked and decided by: `named` as MEASURE or MEASURE-MODE, or else the leading one.

    Raises ToolkitError for a name that is none of the table's numbers, and for one of which neither more nor less is better.
    """
    if not named:
        found = [leading_number(numbers, modes)]
        return found if is_ranked(*found[0], modes) else []
    chosen: dict[Number, None] = {}
    for name in named:
        measure, _, mode = name.rpartition("-")
        measure, mode = (measure, mode) if mode in modes else (name, "")
        measure = str(tandem.parse(measure))
        found = [number for number in numbers if number[0] == measure and (not mode or number[1] == mode)]
        if not found:
            known = three(f"{each}-{mode}" if mode in modes else each for each, mode in numbers)
            raise ToolkitError(f"--primary {name} is not compared", f"compared are {known}: name more with -m")
        ranked = [number for number in found if is_ranked(*number, modes)]
        if not ranked:
            raise ToolkitError(f"--primary {name}: neither more nor less of it is better", "name a measure with a direction")
        chosen |= dict.fromkeys(ranked)
    return [number for number in chosen if _twin(number, modes) not in chosen]


def _twin(number: Number, modes: Modes) -> Number | None:
    """The number that one equals by definition: in the base mode the instructions of a core query are one query, so that
    their minimum, Robustness, is nDCG.
    """
    measure, mode = number
    is_one = mode in modes.of(BASE) and _name(number) == "Robustness"
    return (measure.replace("Robustness", "nDCG", 1), mode) if is_one else None


def _name(number: Number) -> str:
    return registry.measure(number[0]).name
