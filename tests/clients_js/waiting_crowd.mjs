// Many devices that wait as long as they must, each with a memory of its own. The first line of
// standard input is {collector, surveys, answers}, with [[survey, epoch, value], ...] for each
// device. Every further line is a command, and gets one line of JSON on standard output.

import { createInterface } from "node:readline";

import { Device, MemoryStorage } from "../../clients/js/lapwing.mjs";

const HOURS = 7; // more than any pause that a device chooses

let shift = 0;
const now = Date.now;
Date.now = () => now() + shift;

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const { collector, surveys, answers } = JSON.parse((await lines.next()).value);

const devices = answers.map((planned) => {
  const storage = new MemoryStorage();
  const budget = planned.length * 3; // to the last bit: a second draw would be refused
  return { planned, device: new Device({ epsilonCap: 3, budget, storage }) };
});

/** Do something with every device, 16 at a time. */
async function each(act) {
  const queue = [...devices];
  const worker = async () => {
    for (let next = queue.shift(); next; next = queue.shift()) await act(next);
  };
  await Promise.all(Array.from({ length: 16 }, worker));
}

const COMMANDS = {
  answer: () =>
    each(async ({ device, planned }) => {
      for (const [survey, epoch, value] of planned) {
        await device.answer(device.readSurvey(surveys[survey]), value, { epoch });
      }
    }),
  send: async () => {
    shift += HOURS * 3_600_000;
    await each(({ device }) => device.send(collector));
  },
  ledgers: async () => {
    const ledgers = [];
    await each(async ({ device }) => ledgers.push(await device.ledger()));
    return ledgers;
  },
};

for await (const command of lines) {
  const result = await COMMANDS[command]();
  process.stdout.write(`${JSON.stringify(result ?? null)}\n`);
}
