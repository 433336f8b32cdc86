"""What commands read: options, domains, stored documents, tables of counts."""
