"""Li et al. 2020, the square wave with EM and EMS: what is claimed, what is seen."""
