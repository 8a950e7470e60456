"""What writes files of this repository; users import none of it."""
