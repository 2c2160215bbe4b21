"""Validates documents of FMI and SSP against the schemas that come with FMPy and pyssp_standard.

    venv/bin/python crates/koppel-fmi/tests/validate.py FILE...

`make_fmus.py` makes the environment. Which schema it is, the root element and its version say.
"""

import importlib.util
import sys
from pathlib import Path

from lxml import etree


def schema(root: etree._Element) -> Path:
    name = etree.QName(root).localname
    if name == "fmiModelDescription":
        version = root.get("fmiVersion")[0]
        return folder("fmpy") / "schema" / f"fmi{version}" / f"fmi{version}ModelDescription.xsd"
    if name == "fmiTerminalsAndIcons":
        return folder("fmpy") / "schema" / "fmi3" / "fmi3TerminalsAndIcons.xsd"
    resources = folder("pyssp_standard") / "resources"
    names = {"ParameterSet": "SystemStructureParameterValues", "ParameterMapping": "SystemStructureParameterMapping"}
    return (resources / "ssp2" if root.get("version").startswith("2") else resources) / f"{names.get(name, name)}.xsd"


def folder(package: str) -> Path:
    """Where a package is, without running it."""
    return Path(importlib.util.find_spec(package).origin).parent


for file in sys.argv[1:]:
    document = etree.parse(file)
    etree.XMLSchema(etree.parse(str(schema(document.getroot())))).assertValid(document)
