"""The collector and its clients: scripts, results and the table made from them."""
