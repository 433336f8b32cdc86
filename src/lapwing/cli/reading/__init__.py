"""Input of the commands: options, domains, stored documents, tables of counts."""
