"""A device: it randomises once, keeps what it will send, and sends it until it is counted."""
