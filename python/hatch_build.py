"""Puts the command, its server and the second verifier into a wheel.

PROVE_MODEL_PROGRAMS names a folder with prove-model and prove-model-server, which must be built for the platform of
PROVE_MODEL_PLATFORM (a wheel's platform tag). Without them both are built for this machine, with Go.
"""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


PROGRAMS = ("prove-model", "prove-model-server")


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        folder = Path(os.environ.get("PROVE_MODEL_PROGRAMS") or build(root))
        platform = os.environ.get("PROVE_MODEL_PLATFORM") or this_platform()
        ending = ".exe" if platform.startswith("win") else ""
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        for name in PROGRAMS:
            build_data["force_include"][str(folder / f"{name}{ending}")] = f"prove_model/bin/{name}{ending}"
        for source in sorted((root.parent / "scripts" / "verifier").glob("*.py")):
            build_data["force_include"][str(source)] = f"prove_model/reference/_verifier/{source.name}"
        for name in ("LICENSE", "NOTICE"):
            build_data["force_include"][str(root.parent / name)] = f"prove_model/{name}"


def build(root: Path) -> Path:
    """The folder with the programs for this machine."""
    folder = root / "build" / "bin"
    flags = ["-trimpath", "-ldflags", "-s -w -buildid="]
    subprocess.run(["go", "build", *flags, "-o", f"{folder}{os.sep}", *(f"./cmd/{name}" for name in PROGRAMS)],
                   cwd=root.parent, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return folder


def this_platform() -> str:
    """The tag of this machine. The programs are linked statically, so that any Linux will do."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return platform.replace("linux_", "manylinux_2_17_", 1) if platform.startswith("linux_") else platform
