from .expected_error import ErrorByKind as ErrorByKind
from .expected_error import ExpectedError as ExpectedError
from .poisoning_alarm import PoisoningAlarm as PoisoningAlarm
from .recommended_pair import Recommendation as Recommendation
