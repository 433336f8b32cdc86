// Draws what stands in a survey's page, and fetches what was not ready when it was made.

import { drawAll } from "./charts.mjs";

async function load(place) {
  const address = place.dataset.load;
  delete place.dataset.load;
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    const main = parsed.querySelector("main") ?? parsed.body;
    // Where scripts run, what is for their absence would only make the collector draw pictures.
    for (const each of main.querySelectorAll("noscript")) each.remove();
    if (!answer.ok) for (const heading of main.querySelectorAll("h1")) heading.remove();
    place.replaceChildren(...document.adoptNode(main).childNodes);
  } catch {
    const note = document.createElement("p");
    note.className = "alert";
    note.textContent = "The collector did not answer. Reload the page.";
    place.append(note);
  }
  place.removeAttribute("aria-busy");
  show(place);
}

function show(root) {
  drawAll(root);
  for (const place of root.querySelectorAll("[data-load]")) load(place);
  for (const place of root.querySelectorAll("[data-ask]")) {
    place.querySelector("a").addEventListener("click", (event) => {
      event.preventDefault();
      place.dataset.load = place.dataset.ask;
      place.setAttribute("aria-busy", "true");
      place.firstElementChild.className = "waiting";
      load(place);
    }, { once: true });
  }
}

show(document);
