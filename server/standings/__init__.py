"""Who stands where, by assignment and device class."""
