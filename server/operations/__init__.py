"""What an operator does to the database as a whole: back it up, restore it, erase a person from it."""
