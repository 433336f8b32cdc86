"""Whether bands cover as often as they say, and how wide they are."""
