"""`python -m deqcheck`."""

from deqcheck.cli import main

main()
