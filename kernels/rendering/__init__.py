"""Reports and analyses as text for a terminal and as HTML pages with charts."""
