"""What turns the bytes of a source into documents: a module for each family of formats."""
