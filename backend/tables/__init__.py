"""Tables that a person brings: columns of numbers or words, read without running anything."""
