"""The analyst's pages, and the page on which a visitor's own browser reports."""
