"""`python -m gymsolve` is `gymsolve`."""

import sys

from gymsolve.cli import main

if __name__ == "__main__":
    sys.exit(main())
