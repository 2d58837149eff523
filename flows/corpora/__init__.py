"""What produces texts: readers of story, generation and vector files, and the selection rule."""
