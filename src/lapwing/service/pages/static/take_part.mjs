// The page on which a visitor's own browser randomizes an answer, shows the bytes, and sends them
// only when asked.

import { Device } from "/static/client/lapwing.mjs";

const find = (id) => document.getElementById(id);

const place = find("take-part");
const fingerprint = place.dataset.survey;
const kind = place.dataset.kind;
const collector = globalThis.location.origin;
const form = find("answer");

const HEADER = 48;
const CHECKSUM = 4;

const RESULTS = {
  stored: "Sent and stored. Thank you. Your answer itself never left this browser.",
  withdrawn: "Not sent, and it will not be. What it cost stays counted: drawing again until a report pleases would be no privacy.",
  waiting: "The collector cannot take it now. This browser keeps the same bytes; come back and send them again.",
};

let device;
let survey;
let epochs = [];
/** An answer outside of what is counted, of which the visitor was told. */
let told = null;

const makeDevice = () =>
  new Device({ epsilonCap: find("most").value.trim(), budget: find("budget").value.trim() });

function say(text, alarming = false) {
  const status = find("status");
  status.textContent = text;
  status.className = alarming ? "alert" : "notice";
  status.hidden = text === "";
}

function complain(text) {
  const wrong = find("wrong");
  wrong.textContent = text;
  wrong.hidden = text === "";
  const input = form.elements.value;
  for (const each of input instanceof RadioNodeList ? input : [input]) {
    if (text) each.setAttribute("aria-invalid", "true");
    else each.removeAttribute("aria-invalid");
  }
}

const sentence = (error) => {
  const text = String(error?.message ?? error);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

/** Return what the visitor entered, as the client takes it; undefined when there is nothing yet. */
function entered() {
  if (find("missing")?.checked) return null;
  const input = form.elements.value;
  const text = input.value;
  if (kind !== "text" && text === "") return undefined;
  if (kind === "buttons" || kind === "list") {
    const { labels } = survey.document.randomizer.domain;
    return Array.isArray(labels) ? labels[Number(text)] : Number(text);
  }
  if (kind === "number") return input.valueAsNumber;
  return text;
}

/** Return what an answer that is none of the survey's own is counted as; null when it is one. */
function countedAs(value) {
  const { domain } = survey;
  const { low, high, outside, closed, atoms, labels, other } = domain.document;
  if (value === null) return null;
  if (domain.ordered) {
    const number = domain.read(value);
    const over = outside === "overflow" && closed !== "right" && !atoms.includes(high);
    const above = over ? number >= high : number > high;
    if (outside === "refuse" || domain.circular || !(number < low || above)) return null;
    const [end, side] = number < low ? [place.dataset.low, "below"] : [place.dataset.high, "above"];
    return outside === "overflow" ? `${side} ${end}` : end;
  }
  if (other === undefined) return null;
  const known = Array.isArray(labels)
    ? labels.includes(value)
    : Number.isInteger(value) && value >= 0 && value < labels;
  return known ? null : String(other);
}

/** Say what an answer from outside becomes; return whether it is to be drawn all the same. */
function agreed(value) {
  const counted = countedAs(value);
  if (counted === null || told === String(value)) return true;
  told = String(value);
  complain(
    `Your answer is none that this survey counts, so it would be counted as ${counted}. ` +
      "Nothing was drawn or spent. Correct it, or press the button again to answer so.",
  );
  return false;
}

/** Say that the chosen epoch has ended meanwhile; return whether it takes reports. */
async function stillOpen() {
  const now = await device.epochs(collector, survey);
  const state = now.find(({ name }) => name === chosen())?.state;
  if (state === "open" || state === "grace") return true;
  complain(
    `Epoch ${chosen()} takes no reports now. Nothing was drawn or spent. Load the page again to see what is open.`,
  );
  return false;
}

function showReport(answer) {
  const bytes = answer.body ?? new Uint8Array();
  const code = find("bytes");
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
  const middle = document.createElement("mark");
  middle.textContent = hex.slice(HEADER, -CHECKSUM).join(" ");
  code.replaceChildren(
    `${hex.slice(0, HEADER).join(" ")} `,
    middle,
    ` ${hex.slice(-CHECKSUM).join(" ")}`,
  );
  const cost = answer.epsilon === "0" ? "It costs nothing: the same report was made before." : `It costs an epsilon of ${answer.epsilon}.`;
  find("meaning").textContent =
    `For epoch ${answer.epoch}, ${bytes.length} bytes. ${cost} ` +
    "Any other answer could have made the same report, with a probability that is at most " +
    `${factor(survey.epsilon)} times smaller or larger.`;
  find("report").hidden = answer.state !== "waiting";
}

function factor(epsilon) {
  const [over, under = "1"] = epsilon.split("/");
  return Number(Math.exp(Number(over) / Number(under)).toPrecision(3));
}

function showAnswer(answer) {
  showReport(answer);
  find("randomize").disabled = true;
  if (answer.state === "waiting") {
    say("Your report is made and kept here. Nothing has been sent yet.");
    return;
  }
  if (answer.state === "refused") say(`The collector refused the report: ${answer.problem}. It is not sent again.`, true);
  else say(RESULTS[answer.state]);
}

async function showLedger() {
  const { spent, budget, answers } = await device.ledger();
  find("ledger").hidden = answers.length === 0;
  const counted = answers.length === 1 ? "1 answer" : `${answers.length} answers`;
  find("spent").textContent = `${counted}, an epsilon of ${spent} of ${budget} in all.`;
  const others = answers.filter(
    ({ survey: of, epoch, state }) => state === "waiting" && !(of === fingerprint && epoch === chosen()),
  ).length;
  find("others").hidden = others === 0;
  find("others").textContent =
    `${others === 1 ? "One earlier report" : `${others} earlier reports`} that you made here wait to be sent. ` +
    "The button below does not send them.";
  return answers;
}

const chosen = () => find("epoch").value;

/** Show where the visitor stands in the chosen epoch. */
async function showEpoch() {
  const answers = await showLedger();
  const known = answers.find((each) => each.survey === fingerprint && each.epoch === chosen());
  complain("");
  if (known) {
    showAnswer(known);
    return;
  }
  find("report").hidden = true;
  find("randomize").disabled = false;
  say("The promise of this survey is checked. You can answer.");
}

async function randomize(event) {
  event.preventDefault();
  complain("");
  const value = entered();
  if (value === undefined || (typeof value === "number" && Number.isNaN(value))) {
    complain("Give an answer first.");
    return;
  }
  find("randomize").disabled = true;
  try {
    device = makeDevice();
    const text = JSON.stringify(survey.document);
    survey = device.readSurvey(text, { fingerprint });
    if (!agreed(value) || !(await stillOpen())) {
      find("randomize").disabled = false;
      return;
    }
    const answer = await device.answer(survey, value, {
      epoch: chosen(),
      segment: find("segment")?.value || null,
      uploadToken: find("token")?.value.trim() || undefined,
    });
    await showLedger();
    showAnswer(answer);
    find("h-report").focus();
  } catch (error) {
    find("randomize").disabled = false;
    complain(sentence(error));
  }
}

async function current() {
  const { answers } = await device.ledger();
  return answers.find((each) => each.survey === fingerprint && each.epoch === chosen());
}

async function send() {
  find("send").disabled = true;
  say("Sending.");
  try {
    await device.send(collector, { survey, epoch: chosen() });
    const answer = await current();
    showReport(answer);
    if (answer.state === "waiting") {
      const seconds = Math.max(1, Math.ceil((answer.due - Date.now()) / 1000));
      say(`${RESULTS.waiting} It may be tried again in ${seconds} seconds.`, true);
    } else {
      showAnswer(answer);
    }
  } catch (error) {
    say(sentence(error), true);
  }
  find("send").disabled = false;
}

async function withdraw() {
  try {
    await device.withdraw(survey, { epoch: chosen() });
    showAnswer(await current());
  } catch (error) {
    say(sentence(error), true);
  }
}

async function begin() {
  device = makeDevice();
  survey = await device.fetch(collector, fingerprint);
  epochs = (await device.epochs(collector, survey)).filter(({ state }) => state === "open" || state === "grace");
  if (epochs.length === 0) {
    say("The survey is not open now; come back later.");
    return;
  }
  find("epoch").replaceChildren(
    ...epochs.map(({ name }) => {
      const option = document.createElement("option");
      option.value = option.textContent = name;
      return option;
    }),
  );
  find("epoch").value = epochs.at(-1).name;
  find("epoch-place").hidden = epochs.length === 1;
  form.hidden = false;
  form.addEventListener("submit", randomize);
  find("epoch").addEventListener("change", () => showEpoch().catch((error) => say(sentence(error), true)));
  find("send").addEventListener("click", send);
  find("withdraw").addEventListener("click", withdraw);
  await showEpoch();
}

begin()
  .catch((error) => say(`This browser cannot take part: ${sentence(error)}`, true))
  .finally(() => place.setAttribute("data-ready", ""));
