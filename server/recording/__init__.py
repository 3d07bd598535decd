"""What workers send back, written once: results, verdicts, standings."""
