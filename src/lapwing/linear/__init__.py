"""Numerical code that knows nothing of privacy or domains: operators, projections and solvers."""
