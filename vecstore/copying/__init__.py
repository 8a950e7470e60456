"""Copying documents, with their ids and vectors, between stores and files: ``vecstore.copy``."""
