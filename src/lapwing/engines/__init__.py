"""Where many reports are processed at once."""
