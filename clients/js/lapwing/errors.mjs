// The errors of the module. A message says what must hold, what came and what to do; never a value
// that a person holds, because messages travel to logs.

export class LapwingError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A value that is not in the survey's domain. */
export class DomainError extends LapwingError {}

/** A survey whose numbers violate its guarantee, or whose guarantee is weaker than accepted. */
export class PrivacyError extends LapwingError {}

/** What would be spent is more than the person allows; nothing was spent. */
export class BudgetError extends PrivacyError {}

/** A document or a batch that is foreign, damaged, or not in its canonical spelling. */
export class FormatError extends LapwingError {}

/** A report that this survey's randomizer could not have sent. */
export class ReportError extends LapwingError {}

/** A survey that is sound as far as this module can see, but asks for a randomizer it lacks. */
export class UnsupportedError extends LapwingError {}

/** Two parts that do not belong together, such as a budget and a memory made with another one. */
export class MismatchError extends LapwingError {}

/** An argument out of its legal range. */
export class ArgumentError extends LapwingError {}
