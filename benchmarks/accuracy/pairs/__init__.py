"""Two attributes of each person estimated together, compared with the methods of other papers."""
