from .transforms import CountReports as CountReports
from .transforms import CountValues as CountValues
from .transforms import RandomizeValues as RandomizeValues
