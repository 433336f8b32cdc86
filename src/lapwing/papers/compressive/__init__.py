"""Compressive privatization of sparse distributions (Xiong et al., 2021)."""

from lapwing.decoders.structured.sparse_recovery import CompressiveEstimate, SparseRecovery
from lapwing.randomizers.categorical.compressive_privatization import CompressivePrivatization

__all__ = ["CompressiveEstimate", "CompressivePrivatization", "SparseRecovery"]
