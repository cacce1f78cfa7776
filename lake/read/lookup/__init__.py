"""Keys in, the place and the row of each in the files of a bucket out."""
