"""The committed sample report is what the command makes today."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from deqcheck import check
from deqcheck.report import html
from deqcheck.report import json as report_json

REPORTS = Path(__file__).parent.parent / "reports"


@pytest.fixture(scope="module")
def sample() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((REPORTS / "sample.json").read_text(encoding="utf-8"))
    return loaded


def test_the_sample_satisfies_the_schema(sample: dict[str, Any]) -> None:
    jsonschema.validate(sample, report_json.schema())


def test_the_page_is_made_of_the_sample(sample: dict[str, Any]) -> None:
    assert (REPORTS / "sample.html").read_text(encoding="utf-8") == html.render([sample])


def _shape(document: dict[str, Any]) -> Any:
    """What does not depend on the machine: everything but times, versions and the last digits."""
    kept = {k: v for k, v in document.items() if k not in ("timings", "environment", "spectrum", "equilibrium")}
    text = json.dumps(kept, sort_keys=True)
    return json.loads(re.sub(r"-?[0-9]+\.[0-9]+(e[+-]?[0-9]+)?", "0", text))


def test_the_sample_is_current(sample: dict[str, Any]) -> None:
    settings = runpy.run_path(str(REPORTS / "sample.py"))["SETTINGS"]
    today = json.loads(report_json.dumps(report_json.to_json(check.verify("gd-relu", settings))))
    assert _shape(today) == _shape(sample)
