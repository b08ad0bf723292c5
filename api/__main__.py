"""`python -m racedart`."""

from racedart.cli import main

if __name__ == "__main__":
    main()
