from .guarantee import Certificate as Certificate
from .guarantee import Guarantee as Guarantee
from .ledger import Ledger as Ledger
from .ledger_file import LedgerFile as LedgerFile
from .privacy_loss import PrivacyLoss as PrivacyLoss
from .promise import Promise as Promise
from .sampling.randomness import secure as secure
from .sampling.randomness import seeded as seeded
