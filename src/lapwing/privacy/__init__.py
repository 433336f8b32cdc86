"""What is promised and how it is kept: guarantees, composition, ledgers, exact noise."""
