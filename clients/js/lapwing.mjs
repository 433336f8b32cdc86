// The Lapwing client for browsers and Node: one import, no dependency, no build step.
//
// A device reads a survey, proves its privacy guarantee, and sends one randomized report per epoch;
// README.md beside this file shows how.

export { Batch, MEDIA_TYPE } from "./lapwing/batch.mjs";
export { Device } from "./lapwing/device.mjs";
export {
  ArgumentError,
  BudgetError,
  DomainError,
  FormatError,
  LapwingError,
  MismatchError,
  PrivacyError,
  ReportError,
  UnsupportedError,
} from "./lapwing/errors.mjs";
export { BrowserStorage, MemoryStorage } from "./lapwing/storage.mjs";
export { readSurvey, Survey } from "./lapwing/survey.mjs";
