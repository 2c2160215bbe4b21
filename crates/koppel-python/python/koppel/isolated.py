"""Hosts an isolated FMU for another process, which starts this module itself."""

import sys

from ._koppel import serve

if __name__ == "__main__":
    serve(sys.argv[1])
