// How does a list that was asked for come, without holding up who goes on typing?

import { all, fetchPart, find, isList, on } from "./app.js";

// ---------------------------------------------------------------- its place
// htmx says good-bye to every element of the old rows, which takes longer than to draw the new ones. Those
// further down are drawn after the first: a key that is pressed meanwhile comes in between.
htmx.defineExtension("rows", {
  handleSwap(style, target, fragment) {
    const came = [...fragment.children];
    const rows = find("#rows", fragment);
    rows?.classList.add("is-fresh");
    target.replaceChildren(fragment);
    requestAnimationFrame(() => setTimeout(() => rows?.classList.remove("is-fresh")));
    return came.filter((one) => one !== rows || find("[hx-get], [hx-post]", rows)); // what htmx is to set up
  },
});

// Whatever puts a list there does it so. An answer that a newer letter has overtaken is nothing anybody waits for.
let isOvertaken = false;
const SEARCH = ".tools input[type=search]";
const NARROW = "[data-narrow]"; // finds among the values of a filter, here alone
on("input", SEARCH, () => (isOvertaken = true));
document.addEventListener("htmx:beforeRequest", (event) => {
  if (!isList(event.detail)) return;
  const cause = event.detail.requestConfig.triggeringEvent;
  // the letters have asked already: rows that come again would lose what was ticked or begun in them meanwhile
  if (cause?.type === "change" && cause.target.matches(`${SEARCH}, ${NARROW}`)) event.preventDefault();
  else isOvertaken = false;
});
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (isOvertaken && isList(detail)) detail.shouldSwap = false;
  if (detail.target?.id === "results") detail.swapOverride = isList(detail) ? "rows swap:1ms" : "rows"; // a letter may come before
});

// a region that was there before is read out, one that comes with the list is not
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const region = isList(detail) && find("#list-status");
  if (region) region.textContent = find("#results [data-found]")?.dataset.found ?? "";
});

// --------------------------------------------------------------- its address
// the letters of one search are one step of the browser's history: Back does not walk through them
let isSearching = false;
on("focusin", SEARCH, () => (isSearching = false));
addEventListener("popstate", () => (isSearching = false));
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
  if (!isList(detail)) return;
  const isLetter = detail.requestConfig.triggeringEvent?.type === "input";
  const isSame = detail.history.path === location.pathname + location.search;
  if ((isLetter && isSearching) || isSame) detail.history.type = "replace";
  isSearching = isLetter;
});

// Back asks for the page of its address. What was asked for before that, another such page or a list, may come later
// and would be shown at an address that is not its own.
let backs = 0;
let restoring = null;
const askedAfter = new WeakMap(); // how many times somebody had gone back by then
const isLate = (xhr) => askedAfter.get(xhr) !== backs;
document.addEventListener("htmx:historyCacheMiss", ({ detail: { xhr } }) => {
  restoring?.abort();
  restoring = xhr;
  backs += 1;
  xhr.addEventListener("loadend", () => restoring === xhr && (restoring = null));
});
document.addEventListener("htmx:beforeRequest", (event) => {
  if (restoring && isList(event.detail)) event.preventDefault(); // one that has waited for another
});
document.addEventListener("htmx:beforeSend", ({ detail: { xhr } }) => askedAfter.set(xhr, backs));
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (isList(detail) && isLate(detail.xhr)) detail.shouldSwap = false;
});
document.addEventListener("htmx:beforeHistoryUpdate", ({ detail }) => {
  if (isLate(detail.xhr))
    Object.assign(detail.history, { type: "replace", path: location.pathname + location.search });
});

// ------------------------------------------------------- its filters and views
// of many views, the shown one is seen
document.addEventListener("htmx:load", () => {
  const shown = find(".views [aria-current]");
  const bar = shown?.closest("ul");
  if (bar) bar.scrollLeft = shown.offsetLeft - bar.clientWidth / 2;
});

on("input", NARROW, (field) => {
  const wanted = field.value.trim().toLowerCase();
  for (const label of all("label", field.parentElement))
    label.hidden = !label.textContent.toLowerCase().includes(wanted) && !find("input", label).checked;
});
on("keydown", NARROW, (_, event) => event.key === "Enter" && event.preventDefault());

// ------------------------------------------------------------------ its rows
// one listener for all of them: htmx would set up each link of each row
on("click", "#rows a[aria-haspopup=dialog]:not([hx-get])", (link, event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // a tab of its own
  event.preventDefault();
  fetchPart(link.href, { source: link, target: "#sheet-box" });
});
