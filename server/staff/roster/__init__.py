"""Who is in a course: members, invitations, import and export."""
