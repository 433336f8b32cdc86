"""The figures of the papers on the local model, named by paper: what is claimed, what is seen."""
