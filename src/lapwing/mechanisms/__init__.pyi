from .continual_prefix_sums import RunningPrefixSums as RunningPrefixSums
from .histogram_query import HistogramQuery as HistogramQuery
from .label_counts import LabelCounts as LabelCounts
from .prefix_sums import PrefixSums as PrefixSums
from .private_bounds import PrivateBounds as PrivateBounds
from .private_bounds import private_bounds as private_bounds
from .sum_tree import SumTree as SumTree
