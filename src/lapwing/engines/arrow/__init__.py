"""Tables and Arrow arrays: columns of values in, files of reports in and out."""
