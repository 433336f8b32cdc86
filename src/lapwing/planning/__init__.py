"""What to use and how wrong it will be: recommendations, predicted errors, simulation."""
