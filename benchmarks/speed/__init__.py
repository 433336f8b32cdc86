"""How fast it is and how much memory it takes: scripts, results and the table made from them."""
