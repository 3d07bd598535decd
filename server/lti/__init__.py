"""LTI 1.3: launches from a learning management system, and grades and rosters in return."""
