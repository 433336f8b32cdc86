// Dates, times of day and durations, as the numbers of the units of a domain.

const DAY = 86_400;

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?$/;

/**
 * As Python reads them: a zone is shorter than a day, and 24:00 the midnight that ends the day. A
 * space may be in the place of T, and BigQuery's " UTC" in that of Z. A date may be that of a week.
 */
const MOMENT = new RegExp(
  String.raw`^(?:(?<year>\d{4}|[+-]\d{4,12}|\d{5,12})-(?<month>\d\d)-(?<day>\d\d)` +
    String.raw`|(?<year4>\d{4})(?:(?<month4>\d\d)(?<day4>\d\d)` +
    String.raw`|-?W(?<week>\d\d)(?:-?(?<weekday>\d))?))` +
    String.raw`(?<clock>[Tt ](?<hour>[01]\d|2[0-4])(?:(?<colon>:?)(?<minute>[0-5]\d)` +
    String.raw`(?:\k<colon>(?<second>[0-5]\d)(?:[.,](?<parts>\d+))?)?)?` +
    String.raw`(?: UTC|Z|(?<sign>[+-])(?<zone>[01]\d|2[0-3])(?:(?<mark>:?)(?<minutes>[0-5]\d)` +
    String.raw`(?:\k<mark>(?<seconds>[0-5]\d))?)?)?)?$`,
);
const BASIC_WEEK = /^\d{4}W\d\d-|^\d{4}-W\d{3}/;

/** Hours, minutes and seconds, maybe after days, as Python and databases write durations. */
const DURATION = new RegExp(
  String.raw`^(?:(?<days>[+-]?\d{1,5}) days?(?:,? |$))?` +
    String.raw`(?:(?<sign>[+-]?)(?<hours>\d{1,6}):(?<minutes>[0-5]\d):(?<seconds>[0-5]\d)` +
    String.raw`(?:\.(?<parts>\d+))?)?$`,
);
const ISO_DURATION = new RegExp(
  String.raw`^(?<all>[+-]?)P(?=.)(?:(?<weeks>\d{1,4})W)?(?:(?<days>\d{1,5})D)?` +
    String.raw`(?:T(?=.)(?:(?<hours>\d{1,6})H)?(?:(?<minutes>\d{1,8})M)?` +
    String.raw`(?:(?<seconds>\d{1,9})(?:[.,](?<parts>\d+))?S)?)?$`,
);

/** Return the number that a value is in a unit: itself, or of a Date or an ISO text; else NaN. */
export function asNumber(value, unit) {
  if (typeof value === "number" || unit === "number")
    return typeof value === "number" ? value : NaN;
  return value instanceof Date ? ofDate(value, unit) : ofText(value, unit);
}

/** The number that digits represent, 0 if there are none. */
const count = (digits) => Number(digits ?? 0);

/** Return the seconds of a duration, cut to microseconds. */
function ofDuration(text) {
  const found = ISO_DURATION.exec(text) ?? DURATION.exec(text);
  if (!found || text === "") return NaN;
  const { all, sign, weeks, days, hours, minutes, seconds, parts = "" } = found.groups;
  const clocked = 3600 * count(hours) + 60 * count(minutes) + count(seconds);
  const clock = BigInt(clocked) * 1_000_000n;
  const within = clock + BigInt(parts.slice(0, 6).padEnd(6, "0"));
  const whole = BigInt(DAY * (7 * count(weeks) + count(days))) * 1_000_000n;
  const ticks = whole + (sign === "-" ? -within : within);
  return Number(all === "-" ? -ticks : ticks) / 1e6;
}

/** A timestamp of the device, with the date and time of day that its clock shows. */
function ofDate(moment, unit) {
  if (unit === "duration") return NaN;
  if (unit === "datetime") return moment.getTime() / 1000;
  if (unit === "date") {
    return Date.UTC(moment.getFullYear(), moment.getMonth(), moment.getDate()) / (1000 * DAY);
  }
  const seconds = 3600 * moment.getHours() + 60 * moment.getMinutes() + moment.getSeconds();
  return seconds + moment.getMilliseconds() / 1000;
}

function ofText(text, unit) {
  if (typeof text !== "string") return NaN;
  if (unit === "duration") return ofDuration(text);
  const clock = unit === "time-of-day" ? CLOCK.exec(text) : null;
  if (clock) {
    const [hours, minutes, seconds] = [clock[1], clock[2], clock[3] ?? "0"].map(Number);
    const number = 3600 * hours + 60 * minutes + seconds;
    return minutes < 60 && seconds < 60 && number <= DAY ? number : NaN;
  }
  const found = MOMENT.exec(text)?.groups;
  if (!found || BASIC_WEEK.test(text)) return NaN;
  if (unit === "time-of-day" && !found.clock) return NaN; // a date has no time of day
  const [hour, minute, second] = [found.hour, found.minute, found.second].map(count);
  const microseconds = Number((found.parts ?? "").slice(0, 6).padEnd(6, "0"));
  const midnight = hour === 24;
  if (midnight && (minute || second || Number(found.parts ?? 0))) return NaN;
  const [days, cycles] = found.week ? daysOfWeek(found) : daysOfDate(found);
  if (Number.isNaN(days)) return NaN;
  const more = 146_097 * cycles + Number(midnight);
  if (unit === "date") return days + more;
  const clocked = 3600 * (midnight ? 0 : hour) + 60 * minute + second;
  if (unit === "time-of-day") return (1e6 * clocked + microseconds) / 1e6;
  // A moment without a zone is UTC, as on the server.
  const east = 3600 * count(found.zone) + 60 * count(found.minutes) + count(found.seconds);
  const seconds = DAY * days + clocked - (found.sign === "-" ? -east : east);
  // In whole microseconds, which are more than 2^53 of a far day: all readers agree in every bit.
  const whole = Number(1_000_000n * BigInt(seconds) + BigInt(microseconds)) / 1e6;
  return whole + DAY * more;
}

/** Return the days since 1970 of a date, and the cycles of 400 years that come to them. */
function daysOfDate({ year, year4, month, month4, day, day4 }) {
  const written = year ?? year4;
  const [number, inYear, inMonth] = [written, month ?? month4, day ?? day4].map(Number);
  // Far years as in Python, by the calendar's cycle of 400 years.
  const near = /^(?!0000)\d{4}$/.test(written);
  if (!near && year4) return [NaN, 0];
  const cycles = near ? 0 : Math.floor((number - 2000) / 400);
  const start = new Date(0);
  start.setUTCFullYear(number - 400 * cycles, inYear - 1, inMonth);
  if (start.getUTCMonth() !== inYear - 1 || start.getUTCDate() !== inMonth) return [NaN, 0];
  return [start.getTime() / (1000 * DAY), cycles];
}

/** The same of a day in a week of ISO 8601. Week 1 holds 4 January, and a week begins on Monday. */
function daysOfWeek({ year4, week, weekday = "1" }) {
  const [year, number, day] = [year4, week, weekday].map(Number);
  const monday = (one) => {
    const fourth = new Date(0);
    fourth.setUTCFullYear(one, 0, 4);
    return fourth.getTime() / (1000 * DAY) - ((fourth.getUTCDay() + 6) % 7);
  };
  const days = monday(year) + 7 * (number - 1) + day - 1;
  const legal = year >= 1 && number >= 1 && day >= 1 && day <= 7;
  const within = days < monday(year + 1) && new Date(1000 * DAY * days).getUTCFullYear() <= 9999;
  return [legal && within ? days : NaN, 0];
}
