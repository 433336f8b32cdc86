// The Lapwing client for browsers and Node: one import, no dependency, no build step.
//
// A device reads a survey, proves what it promises, and sends one randomised report per epoch;
// README.md beside this file shows how.

export {
  ArgumentError,
  BudgetError,
  DomainError,
  FormatError,
  LapwingError,
  PrivacyError,
  ReportError,
  UnsupportedError,
} from "./lapwing/errors.mjs";
export { readSurvey, Survey } from "./lapwing/survey.mjs";
