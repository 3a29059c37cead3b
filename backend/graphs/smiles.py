"""Molecules as SMILES, one a line, through RDKit."""

from __future__ import annotations

import re

from backend.errors import InputError, shown
from backend.graphs.explanation import GraphSet
from backend.graphs.molecules import BOND_NAMES, FEATURE_NAMES, featurised, molecule
from backend.settings import Settings

LONGEST = 2000
"""Characters of one molecule."""
MOST_ATOMS = 500
_HEADER = re.compile(r"(canonical_?)?smiles\b", re.IGNORECASE)


def read(name: str, text: str, settings: Settings) -> GraphSet:
    """The molecules of a text: a SMILES a line, then, after a space or tab, a name if wanted.

    Raises:
        InputError: RDKit refuses one (it and its line are in the text), or there are too many.
    """
    lines = [(i, line.split()) for i, line in enumerate(text.splitlines(), start=1)]
    found = [(i, words) for i, words in lines if words and not words[0].startswith("#")]
    if found and _HEADER.match(found[0][1][0]):
        found = found[1:]
    if not found:
        raise InputError("There is no molecule in it.", name, "Write one SMILES a line.")
    if len(found) > settings.max_graphs:
        raise InputError(
            f"There are more than {settings.max_graphs:,} molecules (VITRINE_MAX_GRAPHS).",
            name,
            "Bring fewer.",
        )
    one = "\n" not in text.strip()
    smiles = [words[0] for _, words in found]
    _checked(name, smiles, ["" if one else f", line {i}" for i, _ in found], settings)
    titles = [" ".join(words[1:])[:LONGEST] or words[0] for _, words in found]
    return _featurised(name, smiles, titles)


def _checked(name: str, smiles: list[str], places: list[str], settings: Settings) -> None:
    """Check that RDKit reads them all, and that they are not too large."""
    from rdkit import Chem, rdBase

    atoms = 0
    with rdBase.BlockLogs():
        for one, place in zip(smiles, places, strict=True):
            where = f"{name}{place}"
            found = Chem.MolFromSmiles(one) if len(one) <= LONGEST else None
            if found is None or not found.GetNumAtoms():
                what = "is too long" if len(one) > LONGEST else "is no molecule RDKit can read"
                raise InputError(f"'{shown(one)}' {what}.", where, "Mend it or leave it out.")
            if found.GetNumAtoms() > MOST_ATOMS:
                raise InputError(
                    f"'{shown(one)}' has more than {MOST_ATOMS} atoms.", where, "Leave it out."
                )
            atoms += found.GetNumAtoms()
            if atoms > settings.max_nodes:
                raise InputError(
                    f"There are more than {settings.max_nodes:,} atoms (VITRINE_MAX_NODES).",
                    name,
                    "Bring fewer molecules.",
                )


def _featurised(name: str, smiles: list[str], titles: list[str]) -> GraphSet:
    """The set of molecules that can all be read."""
    made = featurised([molecule(one) for one in smiles])
    return GraphSet(
        arrays=made.arrays,
        title=titles[0] if len(smiles) == 1 else name,
        graph_names=tuple(titles),
        smiles=tuple(smiles),
        node_names=made.symbols,
        feature_names=FEATURE_NAMES,
        edge_feature_names=BOND_NAMES,
        molecules=True,
        origin={"file": name, "notes": ["Hydrogens are not nodes."]},
    )
