"""PDF files whose parts have one order: vl-convert writes fonts and resources in the order of a random hash."""

import re

OBJECT = re.compile(rb"^(\d+) 0 obj\n", re.MULTILINE)
REFERENCE = re.compile(rb"\b(\d+) 0 R\b")
# entries of a dictionary, one a line, each a name and a reference
ENTRIES = re.compile(rb"(?:^ +/\w+ \d+ 0 R\n)+", re.MULTILINE)
STREAM = b"\nstream\n"


def ordered(pdf: bytes) -> bytes:
    """The same document, entries of its dictionaries sorted and its objects numbered as the catalogue leads to them."""
    table = int(pdf[pdf.rindex(b"startxref") :].split()[1])
    starts = sorted(int(line[:10]) for line in re.findall(rb"^\d{10} \d{5} n", pdf[table:], re.MULTILINE))
    objects: dict[bytes, tuple[bytes, bytes]] = {}
    for start, end in zip(starts, [*starts[1:], table], strict=True):
        header = OBJECT.match(pdf, start)
        assert header, pdf[start : start + 20]
        words, stream, content = pdf[header.end() : end].partition(STREAM)
        objects[header[1]] = ENTRIES.sub(lambda found: b"".join(sorted(found[0].splitlines(True))), words), stream + content
    trailer = pdf[pdf.index(b"trailer", table) : pdf.rindex(b"startxref")]
    order = dict.fromkeys(REFERENCE.findall(trailer))
    for number in (queue := list(order)):
        queue += (new := [each for each in dict.fromkeys(REFERENCE.findall(objects[number][0])) if each not in order])
        order |= dict.fromkeys(new)
    place = {number: b"%d" % new for new, number in enumerate(order, 1)}

    def renumbered(words: bytes) -> bytes:
        return REFERENCE.sub(lambda found: place[found[1]] + b" 0 R", words)

    made = pdf[: starts[0]]
    offsets = []
    for number in order:
        offsets.append(len(made))
        words, content = objects[number]
        made += place[number] + b" 0 obj\n" + renumbered(words) + content
    rows = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    trailer = re.sub(rb"/Size \d+", b"/Size %d" % (len(order) + 1), renumbered(trailer))
    xref = b"xref\n0 %d\n0000000000 65535 f \n" % (len(order) + 1) + rows
    return made + xref + trailer + b"startxref\n%d\n%%%%EOF" % len(made)
