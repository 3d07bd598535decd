"""The verbs of `tilelab` that need the server's packages. A verb's module loads only when it is called."""
