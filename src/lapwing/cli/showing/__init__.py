"""What commands show: answers as tables and as JSON."""
