"""Numerical code without privacy or domains: operators, projections and solvers."""
