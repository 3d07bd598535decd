"""How people join courses: codes, invitations, and staff's rights over accounts."""
