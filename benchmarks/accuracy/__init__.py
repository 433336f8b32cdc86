"""How close the answers are to the truth: scripts, results and the table made from them."""
