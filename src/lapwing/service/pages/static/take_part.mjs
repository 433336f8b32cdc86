// The page on which a visitor's own browser randomizes an answer, says what is in the report, and
// sends that report alone, only when asked. All texts are set as texts: nothing of them is markup.

import { Batch, Device } from "/static/client/lapwing.mjs";
import { amount } from "/static/client/lapwing/exact.mjs";
import { textFingerprint } from "/static/client/lapwing/survey.mjs";

const find = (id) => document.getElementById(id);

const place = find("take-part");
const fingerprint = place.dataset.survey;
const collector = globalThis.location.origin;
const form = find("answer");
/** What is asked: one input, or one for each of two attributes. */
const fields = [...document.querySelectorAll("[data-field]")];

const HEADER = 48;
const CHECKSUM = 4;

const RESULTS = {
  stored: "Sent and stored. Thank you. Your answer itself never left this browser.",
  withdrawn: "This report was not sent and will not be. Its epsilon stays spent, because drawing again until you like the report would break the guarantee.",
  expired: "This report waited too long to be sent, so this browser has deleted it. Its epsilon stays spent.",
  waiting: "The collector cannot accept the report now. This browser keeps it. Come back later and send it again.",
};

let device;
let survey;
let epochs = [];
let seen; // the answer whose report is shown
/** An answer outside of what is counted, of which the visitor was told. */
let told = null;

/** Which limits the visitor has typed; the others follow from the survey. */
const typed = new Set();

/** Return the limit in a field, by the words beside it. */
function limit(id) {
  const text = find(id).value.trim();
  const number = Number(text);
  try {
    const found = amount(text !== "" && Number.isFinite(number) ? number : text, id);
    if (found.numerator > 0n) return found.toString();
  } catch {
    // Said below.
  }
  throw new Error(
    `${find(id).labels[0].textContent} must be a number above 0, such as 2, 0.5 or 1/3, got "${text}"`,
  );
}

/** Epsilon of all answers in this browser, fixed for good; below it the visitor sets the limits. */
const WHOLE = 24;

/** Return a device within the limits; the limit of all answers is checked for this answer here. */
async function makeDevice() {
  const made = new Device({ epsilonCap: limit("most"), budget: WHOLE });
  const allowed = limit("budget");
  const { spent, answers } = await made.ledger();
  const again = survey.remembered && answers.some(({ survey: of }) => of === fingerprint);
  const total = amount(spent, "").plus(amount(again ? "0" : survey.epsilon, ""));
  if (total.isAtMost(amount(allowed, ""))) return made;
  const error = new Error(
    `you allow an epsilon of ${allowed} in total, but with this answer it would be ${total}. Nothing was spent`,
  );
  error.name = "BudgetError";
  throw error;
}

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
  for (const each of fields.flatMap((field) => [...field.querySelectorAll("[name]")])) {
    if (text) each.setAttribute("aria-invalid", "true");
    else each.removeAttribute("aria-invalid");
  }
}

const sentence = (error) => {
  const text = String(error?.message ?? error);
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

/** Return the domain of each field. */
const domains = () => survey.domain.axes?.map(({ domain }) => domain) ?? [survey.domain];

/** Return what the visitor entered in a field, as the client takes it; undefined for nothing. */
function enteredIn(field, domain) {
  if (field.querySelector("[data-missing]")?.checked) return null;
  const { kind } = field.dataset;
  const input = form.elements[field.dataset.field];
  const text = input.value;
  if (kind !== "text" && text === "") return undefined;
  if (kind === "buttons" || kind === "list") {
    const { labels } = domain.document;
    return Array.isArray(labels) ? labels[Number(text)] : Number(text);
  }
  if (kind === "number") return Number.isNaN(input.valueAsNumber) ? undefined : input.valueAsNumber;
  return text;
}

/** Return what an answer that is none of the survey's own is counted as; null when it is one. */
function countedAs(value, domain, { low: start, high: end }) {
  const { low, high, outside, closed, atoms, labels, other } = domain.document;
  if (value === null) return null;
  if (domain.ordered) {
    const number = domain.read(value);
    const over = outside === "overflow" && closed !== "right" && !atoms.includes(high);
    const above = over ? number >= high : number > high;
    if (outside === "refuse" || domain.circular || !(number < low || above)) return null;
    const [edge, side] = number < low ? [start, "below"] : [end, "above"];
    return outside === "overflow" ? `${side} ${edge}` : edge;
  }
  if (other === undefined) return null;
  const known = Array.isArray(labels)
    ? labels.includes(value)
    : Number.isInteger(value) && value >= 0 && value < labels;
  return known ? null : String(other);
}

/** Say what answers from outside become; return whether they are to be drawn all the same. */
function agreed(values) {
  const counted = domains().map((domain, i) => countedAs(values[i], domain, fields[i].dataset));
  const said = JSON.stringify(values);
  if (counted.every((each) => each === null) || told === said) return true;
  told = said;
  const sentences = counted.map((each, i) => {
    const { name } = fields[i].dataset;
    const answer = name === undefined ? "Your answer" : `Your answer for ${name}`;
    return `${answer} is outside this survey's values, so it would be counted as ${each}. `;
  });
  complain(
    sentences.filter((_, i) => counted[i] !== null).join("") +
      "Nothing was drawn or spent. Correct it, or press the button again to keep it.",
  );
  return false;
}

/** Say that the chosen epoch has ended meanwhile; return whether it takes reports. */
async function stillOpen() {
  const now = await device.epochs(collector, survey);
  const state = now.find(({ name }) => name === chosen())?.state;
  if (state === "open" || state === "grace") return true;
  complain(
    `Epoch ${chosen()} takes no reports now. Nothing was drawn or spent. Reload the page to see what is open.`,
  );
  return false;
}

/** Put the bytes of a report into an element, its randomized part marked. */
function writeBytes(code, bytes) {
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
  const middle = element("mark", hex.slice(HEADER, -CHECKSUM).join(" "));
  code.replaceChildren(
    `${hex.slice(0, HEADER).join(" ")} `,
    middle,
    ` ${hex.slice(-CHECKSUM).join(" ")}`,
  );
}

function element(name, ...content) {
  const made = document.createElement(name);
  made.append(...content);
  return made;
}

function showReport(answer) {
  seen = answer;
  find("report").hidden = answer.state !== "waiting";
  if (answer.state !== "waiting") return;
  const { segment, records } = Batch.fromBytes(answer.body);
  const cost =
    answer.epsilon === "0"
      ? "It costs nothing: the same report was made before."
      : `It costs an epsilon of ${answer.epsilon}.`;
  find("meaning").textContent =
    `This browser has made one report for epoch ${answer.epoch}. ${cost} Nothing has been sent yet. It contains:`;
  if (find("group")) {
    const group = survey.segments[segment - 1];
    find("group").textContent = group
      ? `Your group, not randomized: ${group}.`
      : "No group: you are counted as other.";
  }
  find("content").textContent =
    `Your randomized answer, ${records.length === 1 ? "1 byte" : `${records.length} bytes`}. ` +
    "Any other answer could have made the same report. Its probability would differ by a factor of at most " +
    `${factor(survey.epsilon)}.`;
  find("size").textContent = `All ${answer.body.length} bytes`;
  writeBytes(find("bytes"), answer.body);
}

function factor(epsilon) {
  const [over, under = "1"] = epsilon.split("/");
  const exact = Math.exp(Number(over) / Number(under));
  const step = 10 ** (Math.floor(Math.log10(exact)) - 2);
  return Number((Math.ceil(exact / step) * step).toPrecision(3)); // a bound is rounded up
}

function showAnswer(answer) {
  showReport(answer);
  find("limits").hidden = true;
  find("randomize").disabled = true;
  if (answer.state === "waiting") {
    say("Your browser made your report and keeps it. Nothing has been sent yet.");
    return;
  }
  if (answer.state === "refused") say(`The collector refused the report: ${answer.problem}. Your browser will not send it again.`, true);
  else say(RESULTS[answer.state]);
}

const STATES = {
  waiting: "not sent",
  stored: "sent and stored",
  refused: "refused by the collector",
  withdrawn: "not sent, and it will not be",
  expired: "not sent in time, and deleted",
};

const nameOf = ({ name, survey: of, epoch }) => `${name ?? `Survey ${of.slice(0, 12)}`}, epoch ${epoch}`;

async function showLedger() {
  const { spent, answers } = await device.ledger();
  find("ledger").hidden = answers.length === 0;
  const counted = answers.length === 1 ? "1 answer has" : `${answers.length} answers together have`;
  find("spent").textContent = `${counted} cost an epsilon of ${spent} so far.`;
  find("answered").replaceChildren(
    ...answers.map((answer) => {
      const { question } = answer.notice;
      const asked = question ? ` You were asked: ${question}` : "";
      return element("li", `${nameOf(answer)}: ${STATES[answer.state]}.${asked}`);
    }),
  );
  const others = answers.filter(
    ({ survey: of, epoch, state }) =>
      state === "waiting" && !(of === fingerprint && epoch === chosen()),
  );
  find("others").hidden = others.length === 0;
  find("waiting").replaceChildren(...others.map(waitingCard));
  showCost(spent, answers);
  return answers;
}

/** Return what is shown of another report that waits: its bytes, and buttons of its own. */
function waitingCard(answer) {
  const link = element("a", "Its page");
  link.href = `/take-part/${answer.survey}`;
  const code = element("code");
  code.className = "bytes";
  writeBytes(code, answer.body);
  const bytes = element("details", element("summary", `All ${answer.body.length} bytes`), code);
  const [sending, stopping] = [element("button", "Send it"), element("button", "Do not send it")];
  stopping.className = "quiet";
  const finish = (work, end) => async () => {
    sending.disabled = stopping.disabled = true;
    try {
      await work();
      const { answers } = await device.ledger();
      const { state } = answers.find(({ batch }) => batch === answer.batch);
      say(`${nameOf(answer)}: ${end ?? STATES[state]}.`, state === "waiting");
      await showLedger();
    } catch (error) {
      say(sentence(error), true);
      sending.disabled = stopping.disabled = false;
    }
  };
  const { survey: of, epoch } = answer;
  sending.addEventListener("click", finish(() => sendShown(answer)));
  stopping.addEventListener("click", finish(() => device.withdraw(of, { epoch })));
  const row = element("div", sending, stopping);
  row.className = "row";
  const card = element("li", element("p", `${nameOf(answer)}. `, link), bytes, row);
  card.className = "card";
  return card;
}

/** Say what the answer costs and what is allowed; by default, this answer and no more. */
function showCost(spent, answers) {
  const again = survey.remembered && answers.some(({ survey: of }) => of === fingerprint);
  const now = again ? "nothing: the same report is sent again" : `an epsilon of ${survey.epsilon}`;
  const before = answers.length === 0 ? "nothing" : `an epsilon of ${spent}`;
  find("cost").textContent =
    `Epsilon measures how much a report can tell about you. This answer costs ${now}. ` +
    `Your answers to this collector have cost ${before} so far.`;
  const all = again ? amount(spent, "") : amount(spent, "").plus(amount(survey.epsilon, ""));
  if (!typed.has("most")) find("most").value = survey.epsilon;
  if (!typed.has("budget")) find("budget").value = all.toString();
  const [most, budget] = ["most", "budget"].map((id) => find(id).value.trim());
  find("allowed").textContent =
    typed.size === 0
      ? `This browser allows only this one answer. With it, all answers cost an epsilon of ${budget}.`
      : `You allow an epsilon of ${most} for one answer and ${budget} in all.`;
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
  find("limits").hidden = false;
  find("randomize").disabled = false;
  const now = survey.textFingerprint;
  const another = answers.some((each) => each.survey === fingerprint && textFingerprint(each.notice) !== now);
  say(
    another
      ? "Your browser has checked the privacy guarantee. The text of this survey has changed since you last answered. Read it, then answer."
      : "Your browser has checked the privacy guarantee. You can answer.",
    another,
  );
}

async function randomize(event) {
  event.preventDefault();
  complain("");
  const axes = domains();
  const values = fields.map((field, i) => enteredIn(field, axes[i]));
  if (values.includes(undefined)) {
    complain(values.length === 1 ? "Give an answer first." : "Give both answers first.");
    return;
  }
  find("randomize").disabled = true;
  try {
    device = await makeDevice();
    const text = JSON.stringify(survey.document);
    survey = device.readSurvey(text, { fingerprint });
    if (!agreed(values) || !(await stillOpen())) {
      find("randomize").disabled = false;
      return;
    }
    const answer = await device.answer(survey, values.length === 1 ? values[0] : values, {
      epoch: chosen(),
      segment: find("segment")?.value || null,
      uploadToken: find("token")?.value.trim() || undefined,
    });
    await showLedger();
    showAnswer(answer);
    find("h-report").focus();
  } catch (error) {
    find("randomize").disabled = false;
    const limited = ["PrivacyError", "BudgetError"].includes(error?.name);
    complain(sentence(error) + (limited ? " To answer, change the limits above." : ""));
  }
}

async function current() {
  const { answers } = await device.ledger();
  return answers.find((each) => each.survey === fingerprint && each.epoch === chosen());
}

/** Send the report that is shown; another one in its place stays where it is. */
async function sendShown({ survey: of, epoch, batch }) {
  const { answers } = await device.ledger();
  if (!answers.some((each) => each.batch === batch)) {
    throw new Error("this report is no longer kept. Reload the page to see which reports are waiting");
  }
  await device.send(collector, { survey: of, epoch });
}

async function send() {
  find("send").disabled = true;
  say("Sending.");
  try {
    await sendShown(seen);
    const answer = await current();
    showReport(answer);
    await showLedger();
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
    await device.withdraw(survey, { epoch: seen.epoch });
    showAnswer(await current());
    await showLedger();
  } catch (error) {
    say(sentence(error), true);
  }
}

async function begin() {
  // To read what is asked needs no limit; what is allowed is checked when an answer is made.
  device = new Device({ epsilonCap: 24, budget: WHOLE });
  // What is kept with the answer must be what this page shows. Who answers it has read it.
  survey = await device.fetch(collector, fingerprint, { text: place.dataset.text }).catch((error) => {
    if (error?.name !== "MismatchError") throw error;
    throw new Error("the text of this survey has just changed. Reload the page to read it");
  });
  epochs = (await device.epochs(collector, survey)).filter(({ state }) => state === "open" || state === "grace");
  if (epochs.length === 0) {
    say("The survey is not open now. Come back later.");
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
  for (const id of ["most", "budget"]) {
    find(id).addEventListener("input", () => {
      typed.add(id);
      showLedger().catch((error) => say(sentence(error), true));
    });
  }
  find("send").addEventListener("click", send);
  find("withdraw").addEventListener("click", withdraw);
  await showEpoch();
}

begin()
  .catch((error) => say(`This browser cannot take part: ${sentence(error)}`, true))
  .finally(() => place.setAttribute("data-ready", ""));
