"""``python -m flows`` is ``calibrary``."""

from flows.entry import main

if __name__ == "__main__":
    main()
