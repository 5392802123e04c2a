"use strict";
// Tables sort by their heads and are filtered by what is typed; without this script everything is there all the same.
for (const table of document.querySelectorAll("table.sort")) {
  const body = table.tBodies[0];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    if (!head.textContent.trim()) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const key = (row) => {
        const cell = row.cells[column];
        const value = cell.dataset.v;
        return value === undefined ? cell.textContent.trim() : value === "" ? NaN : Number(value);
      };
      const compare = (a, b) => {
        if (typeof a === "string" || typeof b === "string") return String(a).localeCompare(String(b));
        // What has no value comes last, whichever way.
        if (isNaN(a) || isNaN(b)) return (isNaN(a) - isNaN(b)) * (down ? -1 : 1);
        return a - b;
      };
      const rows = [...body.rows].sort((a, b) => compare(key(a), key(b)) * (down ? -1 : 1));
      body.append(...rows);
    });
  });
}
for (const table of document.querySelectorAll("table.filtered")) {
  const input = document.createElement("input");
  input.type = "search";
  input.className = "filter";
  input.placeholder = "filter: a word of a row";
  input.setAttribute("aria-label", "filter rows of " + (table.dataset.name || "the table"));
  table.parentNode.before(input);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of table.tBodies[0].rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
    }
  });
}
// What is closed on a screen is open on paper.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((one) => (one.open = true)));
