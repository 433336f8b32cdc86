// A button on each block of code copies what a reader would type: no prompts, and no output.

function typed(text) {
  const lines = text.replace(/\n+$/, "").split("\n");
  if (!lines.some((line) => line.startsWith(">>> "))) return lines.join("\n");
  const kept = [];
  let code = false;
  for (const line of lines) {
    code = line.startsWith(">>>") || (code && /^\.\.\.( |$)/.test(line));
    if (code) kept.push(line.slice(4));
  }
  return kept.join("\n").trimEnd();
}

document.addEventListener("DOMContentLoaded", () => {
  for (const block of document.querySelectorAll("div.highlight:not(.highlight-text *)")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(typed(block.querySelector("pre").textContent));
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
    block.append(button);
  }
});
