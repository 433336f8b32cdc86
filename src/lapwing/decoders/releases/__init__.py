"""From a curator's release to the distribution behind it."""
