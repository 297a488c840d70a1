// The list of links: many values of a filter, and many saved views.

import { all, find, isList, on } from "./app.js";

// finds among the values of a filter, without asking for the list
const NARROW = "[data-narrow]";
on("input", NARROW, (field) => {
  const wanted = field.value.trim().toLowerCase();
  for (const label of all("label", field.parentElement))
    label.hidden = !label.textContent.toLowerCase().includes(wanted) && !find("input", label).checked;
});
on("keydown", NARROW, (_, event) => event.key === "Enter" && event.preventDefault());
document.addEventListener("htmx:beforeRequest", (event) => {
  const cause = event.detail.requestConfig.triggeringEvent;
  if (isList(event.detail) && cause?.type === "change" && cause.target.matches(NARROW))
    event.preventDefault();
});

// of many views, the shown one is seen
function showCurrent() {
  const shown = find(".views [aria-current]");
  const bar = shown?.closest("ul");
  if (bar) bar.scrollLeft = shown.offsetLeft - bar.clientWidth / 2;
}
document.addEventListener("htmx:load", showCurrent);
showCurrent();
