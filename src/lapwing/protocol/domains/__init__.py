"""The legal values of an attribute, and how a value becomes the number of its bin."""
