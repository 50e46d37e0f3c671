"""A step for LibreLane, which finds it by its name where this folder is in PYTHONPATH."""

import pathlib

from librelane.steps import OpenROAD, Step


@Step.factory.register()
class GlobalPlacement(OpenROAD.GlobalPlacement):
    """Global placement by placefield, at the density of OpenROAD.GlobalPlacement."""

    id = "Placefield.GlobalPlacement"
    name = "Global Placement by placefield"

    def get_script_path(self):
        return str(pathlib.Path(__file__).with_name("librelane.tcl"))
