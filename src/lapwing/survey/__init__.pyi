from .publication import Publication as Publication
from .publication import QuestionPublication as QuestionPublication
from .survey import Survey as Survey
from .watch import Watch as Watch
