from pathlib import Path

import pytest

from deqcheck import library
from deqcheck.error import InputError
from deqcheck.statement import Rule


def test_the_spine_is_there() -> None:
    assert {"gf-relu", "gd-relu", "relu-wellposed", "relu-lipschitz", "relu-nonnegative"} <= set(library.catalogue())


def test_a_wrong_key_names_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'gd-relu'"):
        library.theorem("gd-rel")


def test_two_theorems_with_one_key_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (library.folder() / "relu_implicit.py").read_text(encoding="utf-8")
    for name in ("twin_one", "twin_two"):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.setattr(library, "folder", lambda: tmp_path)
    with pytest.raises(InputError, match="two theorems have the key"):
        library.catalogue.__wrapped__()


@pytest.mark.parametrize("key", list(library.catalogue()))
def test_every_statement_can_be_typeset(key: str) -> None:
    theorem = library.theorem(key)
    for line in (*theorem.hypotheses, *theorem.conclusions):
        if line.claim is not None:
            assert theorem.latex(line.claim)
            assert theorem.pretty(line.claim)
            assert "norm_" not in theorem.plain(line.claim)


@pytest.mark.parametrize("key", list(library.catalogue()))
def test_every_statement_says_where_it_is_printed(key: str) -> None:
    source = library.theorem(key).source
    assert source.number and source.paper and source.authors and source.year > 1900


def test_expand_leaves_only_measured_and_chosen_symbols() -> None:
    for theorem in library.catalogue().values():
        known = {*theorem.measured, *theorem.chosen}
        for hypothesis in theorem.hypotheses:
            if hypothesis.claim is not None:
                assert theorem.expand(hypothesis.claim).free_symbols <= known


def test_free_constants_only_where_the_paper_leaves_them_open() -> None:
    free = {s.name for s, c in library.theorem("gd-relu").chosen.items() if c.rule is Rule.FREE}
    assert free == {"C_1", "C_2", "C_3"}


@pytest.mark.parametrize("key", list(library.catalogue()))
def test_mathml_is_well_formed(key: str) -> None:
    import xml.etree.ElementTree as ElementTree

    theorem = library.theorem(key)
    for line in (*theorem.hypotheses, *theorem.conclusions):
        if line.claim is not None:
            assert ElementTree.fromstring(theorem.mathml(line.claim)).tag.endswith("math")
