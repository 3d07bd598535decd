"""E-mail to students, if the operator sets a mail server."""
