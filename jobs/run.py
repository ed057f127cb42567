"""The entry point for spark-submit: `spark-submit jobs/run.py [-C project] [-t target] [run options]`."""

import sys

from headrace.cli import submitted

if __name__ == "__main__":
    submitted(sys.argv[1:])
