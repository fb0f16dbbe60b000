"""Regenerate the sample report: python reports/sample.py"""

import sys
from pathlib import Path

from deqcheck import check
from deqcheck.report import html, json
from deqcheck.report.write import write_atomically

HERE = Path(__file__).parent
SETTINGS = {"width": "120", "samples": "40", "dim": "30", "seed": "1"}


def main() -> None:
    """Check gd-relu on a small instance and write sample.json and sample.html."""
    document = json.to_json(check.verify("gd-relu", SETTINGS, spectrum=True))
    write_atomically(HERE / "sample.json", json.dumps(document))
    write_atomically(HERE / "sample.html", html.render([document]))


if __name__ == "__main__":
    sys.exit(main())
