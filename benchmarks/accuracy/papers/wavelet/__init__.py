"""The Haar wavelet expansion's paper: what is claimed, what is seen."""
