"""From the distribution that the reports suggest to the shares of the people who sent them.

After the last pass of a decode. What was found so far is the population that the people were drawn
from: it is smooth where theirs, a sample, is not. Reports of a small epsilon cannot tell the two
apart. Those of a large one can, and an error is one to the people who report: where 1,000 people
answer at epsilon 8, the population is further from them than their reports leave in doubt.
"""

from __future__ import annotations

import numpy as np

from lapwing.decoders.empirical_bayes.quadratic_likelihood import likelihood_terms
from lapwing.linear.arrays import Vector
from lapwing.protocol.channels.channel import Channel
from lapwing.protocol.messages.tally import CountTally


def reporting_people(channel: Channel, tally: CountTally, mass: Vector, uniform: Vector) -> Vector:
    """Return the expected shares of the people who reported: float64 [size], a distribution.

    Parameters
    ----------
    channel : Channel
    tally : CountTally
        At least one report.
    mass : numpy.ndarray
        float64 [size], the population.
    uniform : numpy.ndarray
        float64 [size], the shares before anything is known. One person is taken to be anywhere, so
        that where the population seems empty somebody may be seen.

    Notes
    -----
    Each person holds a symbol with its probability given the report, under that population:
    ``p (1 + g / n)``, where g is the gradient of the log-likelihood along distributions. This is
    an expectation step, and no step further: the likelihood's own maximum fits the noise. Of bits
    the gradient is that of the composite likelihood, under which a share could be negative; it is
    zero then. One product with every block's operator and its adjoint.
    """
    people = tally.total
    population = mass + (uniform - mass) / people
    _, slope = likelihood_terms(channel, tally, population)
    shares = population * (1 + (slope - population @ slope) / people)
    shares = np.maximum(shares, 0.0)
    found: Vector = shares / shares.sum()
    return found
