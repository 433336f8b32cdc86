"""From a curator's release to a distribution."""
