"""A client for the portal's API. It needs only the standard library, so it runs on any machine."""
