"""The convolution paper, which decodes by a Wiener filter: what is claimed, what is seen."""
