"""Two attributes of each person estimated together, beside the methods of other papers."""
