"""A randomizer and a decoder that lapwing does not have."""
