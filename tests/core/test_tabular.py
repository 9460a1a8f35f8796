import json
import math

from toolkit.core.tables.tabular import to_csv, to_json

RECORDS = [{"name": "é, x", "value": 0.5}, {"name": "y", "value": math.nan}]


def test_nan_is_null_in_json_and_nothing_in_csv():
    made = to_json(RECORDS, ["note"])
    assert json.loads(made) == {
        "schema": 1,
        "rows": [{"name": "é, x", "value": 0.5}, {"name": "y", "value": None}],
        "notes": ["note"],
    }
    assert made.count("\n") == 4  # a record a line
    assert to_csv(["name", "value"], RECORDS) == 'name,value\n"é, x",0.5\ny,\n'
    assert json.loads(to_json([])) == {"schema": 1, "rows": [], "notes": []}
