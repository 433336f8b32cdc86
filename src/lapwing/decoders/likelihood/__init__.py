"""The distribution under which the reports are likely."""
