from .publication import Publication as Publication
from .survey import Survey as Survey
from .watch import Watch as Watch
