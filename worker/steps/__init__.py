"""The steps of a job, from the source to the report. A student's code runs only in the sandbox."""
