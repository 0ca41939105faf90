"""Compiles the kernels when a wheel is built, so that the first fit after an installation does not have to.

Stored kernels are for one processor, interpreter and version of Numba, all of which are checked before they are used;
elsewhere they are compiled on their first call. A wheel that is going to be installed on other machines needs none:
NEURALFOREST_PRECOMPILE=0 builds one for every platform.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SECONDS = 600  # at most


class KernelBuildHook(BuildHookInterface):
    """Adds `neuralforest/_kernels/compiled` to a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a temporary folder; without success, the wheel has no compiled kernels."""
        if version == "editable" or os.environ.get("NEURALFOREST_PRECOMPILE", "1") == "0":
            return
        self._folder = tempfile.TemporaryDirectory()
        environment = os.environ | {
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": self._folder.name,
            "NEURALFOREST_CACHE": "1",
        }
        # Not by PYTHONPATH: pip removes what an editable installation in the environment has put on the path.
        source = str(Path(self.root, "src"))
        program = f"import sys; sys.path.insert(0, {source!r}); import neuralforest; neuralforest.warmup()"
        command = [sys.executable, "-c", program]
        try:
            subprocess.run(command, env=environment, check=True, capture_output=True, timeout=_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            printed = getattr(error, "stderr", None) or b""
            self.app.display_warning(f"kernels are not compiled ahead of use: {error}\n{printed.decode()[-2000:]}")
            return
        if not any(Path(self._folder.name).rglob("*.nbi")):  # such as with NUMBA_DISABLE_JIT
            return
        build_data["force_include"][self._folder.name] = "neuralforest/_kernels/compiled"
        build_data["pure_python"], build_data["infer_tag"] = False, True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        if hasattr(self, "_folder"):
            self._folder.cleanup()
