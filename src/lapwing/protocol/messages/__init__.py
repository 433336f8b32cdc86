"""Messages: reports, and the sums that are kept of them."""
