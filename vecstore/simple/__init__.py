"""The in-memory store: exact, filtered, thread-safe, saved to one JSON file."""
