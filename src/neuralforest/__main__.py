"""``python -m neuralforest`` is the command line."""

from neuralforest.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
