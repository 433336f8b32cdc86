// Many devices, each with a memory of its own: {collector, text, epochs, answers: [[value, segment]],
// tokens, keepDays} on standard input; what became of each on standard output.

import { readFileSync } from "node:fs";

import { Device, MemoryStorage } from "../../clients/js/lapwing.mjs";

const task = JSON.parse(readFileSync(0, "utf8"));
const { collector, text, epochs, answers, tokens = [], keepDays = 3650 } = task;

let shift = 0;
const now = Date.now;
Date.now = () => now() + shift;

/** A moment instead of a pause; the clock moves by all of it. */
const pause = (milliseconds) => {
  shift += milliseconds;
  return new Promise((resolve) => setTimeout(resolve, 100));
};

/** What the collector answers, by a clock that moves with that of the devices. */
async function ask(...request) {
  const { body, status, headers } = await globalThis.fetch(...request);
  const date = new Date(Date.now()).toUTCString();
  return new Response(body, { status, headers: { ...Object.fromEntries(headers), date } });
}

async function play([value, segment], number) {
  const storage = new MemoryStorage();
  const device = new Device({ epsilonCap: 24, budget: 1000, keepDays, storage, pause, fetch: ask });
  const survey = device.readSurvey(text);
  for (const epoch of epochs) {
    await device.answer(survey, value, { epoch, segment, uploadToken: tokens[number] });
    await device.settle(collector);
  }
  const { spent, answers: made } = await device.ledger();
  return { spent, states: made.map(({ state, problem }) => problem ?? state) };
}

const ended = [];
const queue = answers.map((answer, number) => [answer, number]);
const worker = async () => {
  for (let next = queue.shift(); next; next = queue.shift()) ended.push(await play(...next));
};
await Promise.all(Array.from({ length: 16 }, worker));
process.stdout.write(JSON.stringify(ended));
