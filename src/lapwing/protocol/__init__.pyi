from .channels.channel import Block as Block
from .channels.channel import Channel as Channel
from .domains.segmented import Segmented as Segmented
from .messages.exact_counts import ExactCounts as ExactCounts
