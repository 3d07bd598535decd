"""The pages with which people come in; to import this is to have them on the blueprint."""
