"""The roster: members, invitations, import and export."""
