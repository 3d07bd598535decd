"""The verbs of `tilelab` that need the server's packages: one file a verb, each imported only when it is called."""
