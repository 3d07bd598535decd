"""The steps of a job, from the source to a report; what touches a student's code runs in the sandbox."""
