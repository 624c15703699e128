"""The command: ``python -m prove_model …`` is ``prove-model …``."""

import os
import subprocess
import sys

from ._command import command


def main() -> None:
    line = [str(command()), *sys.argv[1:]]
    if os.name == "posix":
        os.execv(line[0], line)
    sys.exit(subprocess.run(line, check=False).returncode)


if __name__ == "__main__":
    main()
