"""What is told beforehand: predicted errors, and what shuffled reports promise."""
