"""``python -m headgate``: the same as the command ``headgate``."""

from headgate.cli.main import main

if __name__ == "__main__":
    main()
