"""Pure numbers: operators, projections and solvers that know no privacy and no domain."""
