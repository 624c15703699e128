"""Puts the command and the second verifier into a wheel.

PROVE_MODEL_BINARY names the command, which must be built for the platform of PROVE_MODEL_PLATFORM (a wheel's platform
tag). Without them the command is built for this machine, with Go.
"""

import os
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Hook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        binary = os.environ.get("PROVE_MODEL_BINARY") or str(build(root))
        platform = os.environ.get("PROVE_MODEL_PLATFORM") or this_platform()
        name = "prove-model.exe" if platform.startswith("win") else "prove-model"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        build_data["force_include"][binary] = f"prove_model/bin/{name}"
        for source in sorted((root.parent / "scripts" / "verifier").glob("*.py")):
            build_data["force_include"][str(source)] = f"prove_model/reference/_verifier/{source.name}"
        for name in ("LICENSE", "NOTICE"):
            build_data["force_include"][str(root.parent / name)] = f"prove_model/{name}"


def build(root: Path) -> Path:
    """The command for this machine."""
    binary = root / "build" / "prove-model"
    flags = ["-trimpath", "-ldflags", "-s -w -buildid="]
    subprocess.run(["go", "build", *flags, "-o", str(binary), "./cmd/prove-model"],
                   cwd=root.parent, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
    return binary


def this_platform() -> str:
    """The tag of this machine. The command is linked statically, so that any Linux will do."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return platform.replace("linux_", "manylinux_2_17_", 1) if platform.startswith("linux_") else platform
