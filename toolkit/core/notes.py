"""Lines that say what must be known of numbers, and which of them comes first where not all are shown."""

from collections.abc import Iterable, Sequence

from toolkit.core.system.lazy_names import when_imported, yaml

MISLEADS, READS, ROUTINE = range(3)  # a number may mislead; how numbers are read; what a reader would expect
SHOWN = 5  # on a terminal


class Note(str):
    """A line; `weight` is one of the above. Plain text is `READS`."""

    weight: int

    def __new__(cls, text: str, weight: int = READS):
        """A line of this weight."""
        made = super().__new__(cls, text)
        made.weight = weight
        return made


def weight_of(note: str) -> int:
    """How soon a note comes."""
    return getattr(note, "weight", READS)


def weighed(notes: Iterable[str], weight: int) -> list[str]:
    """Notes of one weight."""
    return [Note(note, weight) for note in notes]


def most_important(notes: Sequence[str], number: int = SHOWN) -> tuple[list[str], int]:
    """The first `number` by weight, and how many are left; equals, and all where they are no more, in their order."""
    if len(notes) <= number:
        return list(notes), 0
    return sorted(notes, key=weight_of)[:number], len(notes) - number


# which knows no subclass of str
when_imported("yaml", lambda: yaml.SafeDumper.add_representer(Note, lambda dumper, note: dumper.represent_str(str(note))))
