"""Everything that people read: text for a terminal, the HTML page and its pictures."""
