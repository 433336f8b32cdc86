from .publication import Publication as Publication
from .publication import read_release as read_release
from .survey import Survey as Survey
from .watch import Watch as Watch
