"""`python -m braid`: the same as the console script `braid`."""

from braid.cli.main import main

if __name__ == "__main__":
    main()
