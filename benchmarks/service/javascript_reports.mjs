// Times reports of the JavaScript client: {surveys: [{name, text, values}], reports, rounds} on
// standard input, CPU and wall seconds of each round by name on standard output.

import { readFileSync } from "node:fs";

import { readSurvey } from "../../clients/js/lapwing.mjs";

const { surveys, reports, rounds } = JSON.parse(readFileSync(0, "utf8"));

const works = surveys.flatMap(({ name, text, values }) => {
  const survey = readSurvey(text);
  // What a collector could do with it: it also keeps the compiler from leaving the work out.
  let kept = 0;
  const randomize = () => {
    for (let i = 0; i < reports; i++) kept ^= survey.randomize(values[i % values.length])[0];
    return kept;
  };
  return [
    { name, work: randomize },
    { name: `${name}: read`, work: () => readSurvey(text).fingerprint },
  ];
});

const times = Object.fromEntries(works.map(({ name }) => [name, { cpu: [], wall: [] }]));
for (let round = -2; round < rounds; round++) {
  for (const { name, work } of round % 2 ? works : works.toReversed()) {
    const [cpu, wall] = [process.cpuUsage(), process.hrtime.bigint()];
    work();
    const used = process.cpuUsage(cpu);
    if (round < 0) continue; // the compiler warms up
    times[name].cpu.push((used.user + used.system) / 1e6);
    times[name].wall.push(Number(process.hrtime.bigint() - wall) / 1e9);
  }
}
process.stdout.write(JSON.stringify({ node: process.versions.node, times }));
