"""What becomes of a filter, told to people and programs: rewritten, compiled, decided."""
