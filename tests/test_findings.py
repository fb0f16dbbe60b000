"""docs/findings.md is what the audit says of the statements as they are now."""

import re
from pathlib import Path

from deqcheck import library
from deqcheck.audit.document import content

FINDINGS = Path(__file__).parent.parent / "docs" / "findings.md"


def test_the_findings_are_made_from_the_present_statements() -> None:
    text = FINDINGS.read_text(encoding="utf-8")
    stamp = re.search(r"<!-- made from ([0-9a-f]{64}) -->", text)
    assert stamp is not None
    told = "docs/findings.md is out of date: run `deqcheck audit --findings docs/findings.md --exit-zero`"
    assert stamp[1] == content(*library.catalogue().values()), told


def test_every_printed_result_is_in_the_findings() -> None:
    text = FINDINGS.read_text(encoding="utf-8")
    assert all(f"`{key}`" in text for key in library.catalogue())


def test_the_stamp_sees_a_changed_proof() -> None:
    from dataclasses import replace

    theorem = library.theorem("gd-relu")
    assert content(replace(theorem, proof=theorem.proof[:-1])) != content(theorem)
