"""``python -m flows`` is ``calibrary``."""

from flows.cli import main

if __name__ == "__main__":
    main()
