"""The functional-approximation paper of the central model: what is claimed, what is seen."""
