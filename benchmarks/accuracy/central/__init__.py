"""The central model: the paper's methods and figures beside the default."""
