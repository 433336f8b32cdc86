from .expected_error import ErrorByKind as ErrorByKind
from .expected_error import ExpectedError as ExpectedError
from .expected_error import Recommendation as Recommendation
from .poisoning_alarm import PoisoningAlarm as PoisoningAlarm
