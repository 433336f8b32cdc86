"""stub"""
def openapi_document() -> dict[str, object]:
    """Return it."""
    return {}
