"""What both sides agree on and exchange: a randomizer's offer, a release."""
