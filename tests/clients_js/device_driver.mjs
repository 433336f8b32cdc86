// Plays what a device does, step by step: a JSON object {options, surveys, file, steps} on standard
// input, a JSON list of what each step gave on standard output. With `file` the memory is a file,
// so that a test can kill the program and go on with the next one. The clock stands, and is moved.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";

import { Device, LapwingError, MemoryStorage, readSurvey } from "../../clients/js/lapwing.mjs";

/** A device's memory in a file; `dies` says before which part of a change the program is killed. */
class FileStorage {
  dies = null;
  full = false;

  constructor(path) {
    this.path = path;
  }

  #die(when) {
    if (this.dies === when) process.kill(process.pid, "SIGKILL");
  }

  async change(update) {
    const text = existsSync(this.path) ? readFileSync(this.path, "utf8") : "[]";
    const bytes = (key, value) => (value?.$bytes ? Uint8Array.from(value.$bytes) : value);
    const records = new Map(JSON.parse(text, bytes).map((record) => [record.key, record]));
    const { put = [], result } = update(new Map(records));
    if (put.length === 0) return result;
    // As Node says it of a disk without space.
    if (this.full) throw Object.assign(new Error("ENOSPC: no space left"), { code: "ENOSPC" });
    for (const record of put) records.set(record.key, record);
    const plain = (key, value) => (value instanceof Uint8Array ? { $bytes: [...value] } : value);
    writeFileSync(`${this.path}.new`, JSON.stringify([...records.values()], plain));
    this.#die("storing");
    renameSync(`${this.path}.new`, this.path);
    this.#die("sending");
    return result;
  }
}

let shift = 0;
const start = Date.now();
Date.now = () => start + shift;
const paused = [];
const warned = [];
console.warn = (text) => warned.push(text);

/** Pauses pass at once and move the clock. */
async function pause(milliseconds) {
  shift += milliseconds;
  paused.push(milliseconds);
}

const { options, surveys, file, steps } = JSON.parse(readFileSync(0, "utf8"));
const storage = file ? new FileStorage(file) : new MemoryStorage();

const device = () => new Device({ ...options, storage, pause });
const read = (name) => device().readSurvey(surveys[name]);

/** Most memory at once. On Linux `maxRSS` begins with that of the program which started this one. */
function mostKilobytes() {
  const status = "/proc/self/status";
  if (!existsSync(status)) return process.resourceUsage().maxRSS;
  return Number(readFileSync(status, "utf8").match(/VmHWM:\s*(\d+)/)[1]);
}

const STEPS = {
  new: (more) => new Device({ storage, ...more }) && "made",
  answer: (name, epoch, value, more) => device().answer(read(name), value, { epoch, ...more }),
  answerFree: (name, epoch, value) => device().answer(readSurvey(surveys[name]), value, { epoch }),
  send: (name, epoch, collector = options.collector) =>
    device().send(collector, { survey: name ? read(name) : undefined, epoch: epoch ?? undefined }),
  settle: async () => (await device().settle(options.collector)) ?? paused.splice(0),
  aborted: () =>
    device()
      .settle(options.collector, { signal: AbortSignal.abort() })
      .catch((error) => error.name),
  withdraw: (name, epoch) =>
    device().withdraw(surveys[name] ? read(name) : (name ?? undefined), {
      epoch: epoch ?? undefined,
    }),
  /** The epochs are listed, and one of them answered, by one program. */
  listed: async (name, epoch, value, more) => {
    const [here, survey] = [device(), read(name)];
    await here.epochs(options.collector, survey);
    return here.answer(survey, value, { epoch, ...more });
  },
  ledger: () => device().ledger(),
  warned: () => warned.splice(0),
  memory: () => mostKilobytes() / 1024, // MB
  clock: (milliseconds) => (shift += milliseconds),
  dies: (when) => (storage.dies = when),
  full: (yes) => (storage.full = yes),
  survey: (fingerprint, more) => device().fetch(options.collector, fingerprint, more),
  epochs: (name) => device().epochs(options.collector, read(name)),
  both: (...given) => Promise.all([STEPS.answer(...given), STEPS.answer(...given)]),
};

const made = [];
for (const [step, ...given] of steps) {
  try {
    made.push((await STEPS[step](...given)) ?? null);
  } catch (error) {
    if (!(error instanceof LapwingError)) throw error;
    made.push({ error: error.name, message: error.message });
  }
}
const shown = (key, value) =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
process.stdout.write(JSON.stringify(made, shown));
