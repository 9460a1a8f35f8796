"""Files made wrong: small changes of bytes and of values, drawn from a generator that Hypothesis seeds and shrinks."""

import copy
import json

import yaml

# what breaks readers: bytes that are no text, numbers beyond all measure, nesting, what other tools write for nothing
PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\n\n",
        b"\t",
        b" ",
        b"",
        b'"',
        b"'",
        b"\\",
        b"#",
        b"-",
        b",",
        b":",
        b"\xe2\x80\xa8",
    ),
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b"[" * 2000,
        b"- " * 300,
        b"nan",
        b"inf",
        b"-1",
        b"0",
        b"1e400",
        b"9" * 5000,
        b"0x10",
        b"true",
        b"null",
    ),
    *(
        b"\\ud800",
        b"2024-02-30",
        b"&a [*a]",
        b"<<: 1",
        b"!!int x",
        b"../../x",
        b"/dev/null",
        b"\x1b[31m",
        b"x" * 70_000,
        b"%s",
        b"{query}",
    ),
)
VALUES = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        10**30,
        1.5,
        -0.0,
        float("nan"),
        float("inf"),
        "",
        " ",
        "x",
        "007",
        "a b",
        "\0",
        "\x1b[31m",
        "../x",
    ),
    *(
        "/",
        "nan",
        "x" * 5000,
        "\u2028",
        "\u202e",
        [],
        {},
        [[]],
        [None],
        {"": None},
        {"a": {"b": [1]}},
        ["x", 1],
        list(range(300)),
        2**63,
    ),
)


def changed_bytes(random, data):
    """The same bytes with one to three things done to them."""
    for _ in range(random.randint(1, 3)):
        start = random.randint(0, len(data))
        end = min(len(data), start + random.choice((0, 1, 1, 2, 5, 20, 200)))
        how = random.randint(0, 5)
        if how == 0:
            data = data[:start]
        elif how == 1:
            data = data[:start] + data[end:]
        elif how == 2:
            data = data[:end] + data[start:]
        elif how == 3 and start < len(data):
            data = data[:start] + bytes([data[start] ^ (1 << random.randint(0, 7))]) + data[start + 1 :]
        else:
            data = data[:start] + random.choice(PIECES) + data[end:]
    return data


def changed_value(random, value):
    """The same value with one or two of its parts replaced, removed, renamed or doubled."""
    value = copy.deepcopy(value)
    for _ in range(random.randint(1, 2)):
        places = list(_places(value))
        if not places:
            return random.choice(VALUES)
        holder, key = random.choice(places)
        how = random.randint(0, 5)
        if how == 0:
            del holder[key]
        elif how == 1 and isinstance(holder, dict):
            holder[random.choice(("", "x", "name", "\0", 1, None, True))] = holder.pop(key)
        elif how == 2 and isinstance(holder, list):
            holder.append(holder[key])
        else:
            holder[key] = copy.deepcopy(random.choice(VALUES))
    return value


def _places(value):
    """Every (holder, key) in a value."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def as_yaml(value):
    return yaml.safe_dump(value, allow_unicode=True, sort_keys=False).encode(errors="surrogatepass")


def as_json(value):
    return json.dumps(value, ensure_ascii=False).encode(errors="surrogatepass")


def as_lines(rows):
    """JSON lines of a list of values; of anything else, that in one line."""
    return b"".join(as_json(row) + b"\n" for row in rows) if isinstance(rows, list) else as_json(rows)
