// The palette of Ctrl+K: pages, commands, the actions of the focused row, and links that the server finds.
// It is a combobox whose list is always open: the field keeps the focus, and `aria-activedescendant` says
// what Enter chooses.

import { all, copy, fetchPart, find, gettext, keepChoice, LOST, ngettext, returnTo, toast } from "./app.js";
import { act, create, fill, menu, palette, showHelp } from "./links.js";

// its own style sheet comes with it
const style = document.createElement("link");
const isStyled = new Promise((done) => (style.onload = style.onerror = done));
style.rel = "stylesheet";
style.href = new URL("palette.css", import.meta.url);
document.head.append(style);

const PAUSE_MS = 150;
const MOST_LETTERS = 200; // of a search: with escapes an address stays short enough
const field = find("input", palette);
const list = find("#palette-list");
const said = find(".palette-said", palette);
const entries = document.createElement("div"); // pages and commands: asked for once a page
const found = document.createElement("div"); // links
const ofRow = document.createElement("div");
for (const part of [ofRow, entries, found]) part.role = "presentation";
found.role = "group";
found.setAttribute("aria-labelledby", "palette-links");
list.append(ofRow, entries, found);

let row = null;
let active = null;
let timer;
let asked = new AbortController(); // for links; a newer letter takes the question back

// ------------------------------------------------------------------- opening
async function begin(focused) {
  await isStyled;
  if (!palette.open) return;
  row = focused;
  asked.abort();
  found.replaceChildren();
  offerRow();
  // what was typed while this script was on its way stays
  if (!palette.dataset.isOpen) palette.dataset.isOpen = "true";
  show();
  if (field.value) ask();
  if (!entries.children.length) {
    const text = await request(palette.dataset.entries, null);
    if (text === null) return;
    entries.replaceChildren(...nodesOf(text));
    show();
  }
}

palette.addEventListener("close", () => {
  clearTimeout(timer);
  asked.abort();
  field.value = "";
  delete palette.dataset.isOpen;
});

// the actions of the row that had the focus, as in its menu
function offerRow() {
  ofRow.replaceChildren();
  if (!row) return;
  fill(row);
  const group = document.createElement("div");
  const name = document.createElement("div");
  group.role = "group";
  name.className = "group-name";
  name.id = "palette-row";
  group.setAttribute("aria-labelledby", name.id);
  const address = document.createElement("bdi");
  address.textContent = find("a.name", row).textContent;
  name.append(address);
  group.append(name, ...all("[data-key]", menu).map(option));
  ofRow.append(group);
}

function option(item, number) {
  const one = document.createElement("a");
  one.role = "option";
  one.id = `palette-row-${number}`;
  one.tabIndex = -1;
  one.href = item.getAttribute("href") ?? "#";
  one.dataset.key = item.dataset.key;
  one.append(...[...item.childNodes].map((node) => node.cloneNode(true)));
  return one;
}

// ------------------------------------------------------------------ choosing
// without accents and case, so that "gerate" finds "Geräte"
const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
const options = () => all("[role=option]", list).filter((one) => !one.hidden);

// how well an option fits: its title begins with what was typed, a later word of it does, it is in the title
// somewhere, or only in the other words by which it is found
function rank(one, typed) {
  const title = plain(one.textContent).trim();
  const text = `${title} ${plain(one.dataset.also ?? "")}`;
  if (!typed.split(/\s+/).every((word) => text.includes(word))) return 0;
  if (title.startsWith(typed)) return 4;
  if (title.includes(` ${typed}`)) return 3;
  return title.includes(typed) ? 2 : 1;
}

function show() {
  const typed = plain(field.value).trim();
  let best = null;
  let most = 0;
  for (const one of all("[role=option]", list)) {
    const fit = found.contains(one) ? 1 : rank(one, typed);
    one.hidden = !fit;
    if (fit > most) [best, most] = [one, fit];
  }
  for (const group of all("[role=group]", list)) group.hidden = !find("[role=option]:not([hidden])", group);
  const number = options().length;
  list.hidden = number === 0;
  field.setAttribute("aria-expanded", String(number > 0));
  said.textContent = number
    ? ngettext("%(num)s result", "%(num)s results", number)
    : gettext("Nothing found");
  said.classList.toggle("sr", number > 0);
  activate(typed ? best : (options()[0] ?? null));
  list.scrollTop = 0;
}

function activate(one) {
  active?.setAttribute("aria-selected", "false");
  active = one;
  active?.setAttribute("aria-selected", "true");
  if (active) field.setAttribute("aria-activedescendant", active.id);
  else field.removeAttribute("aria-activedescendant");
}

function step(by) {
  const shown = options();
  if (!shown.length) return;
  const at = shown.indexOf(active) + by;
  activate(shown.at(Math.abs(by) > 1 ? Math.min(Math.max(at, 0), shown.length - 1) : at % shown.length));
  active.scrollIntoView({ block: "nearest" });
}

const STEPS = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return; // an input method's own keys
  const by = STEPS[event.key];
  if (by) step(by);
  else if (event.key === "Enter") {
    if (!active) return;
    if (event.ctrlKey || event.metaKey) open(active.href, "_blank", "noopener");
    else choose(active);
  } else if (isCopying(event)) return copyActive(event);
  else return;
  event.preventDefault();
});
field.addEventListener("input", () => {
  clearTimeout(timer);
  asked.abort();
  show();
  timer = setTimeout(ask, PAUSE_MS);
});
list.addEventListener("pointermove", ({ target }) => {
  const one = target.closest("[role=option]");
  if (one && one !== active) activate(one);
});
list.addEventListener("mousedown", (event) => event.preventDefault()); // the field keeps the focus
list.addEventListener("click", (event) => {
  const one = event.target.closest("[role=option]");
  if (!one || event.ctrlKey || event.metaKey || event.shiftKey) return; // a tab of its own
  event.preventDefault();
  choose(one);
});

const isCopying = ({ key, ctrlKey, metaKey, shiftKey }) =>
  key === "c" &&
  (ctrlKey || metaKey) &&
  !shiftKey &&
  active?.dataset.copies &&
  field.selectionStart === field.selectionEnd;

async function copyActive(event) {
  event.preventDefault();
  const { copied, notCopied } = find("#toasts").dataset;
  const done = await copy(active.dataset.copies);
  palette.close();
  toast(...(done ? [copied] : [notCopied, "bad"]));
}

// --------------------------------------------------------------- what is done
const press = (name, value) =>
  all(`button[name=${name}]`)
    .find((one) => one.value === value)
    ?.click();
const ACTS = {
  create: () => create(),
  bulk: (one) => pressOr(find("[data-create=many]"), one.href),
  search: (one) => (find("#ask-search") ? find("#ask-search").focus() : location.assign(one.href)),
  edit: (one) =>
    find("[data-create]")
      ? fetchPart(one.href, { source: field, target: "#sheet-box" })
      : location.assign(one.href),
  keys: () => showHelp(),
  theme: (one, value) => press("theme", value),
  density: (one, value) => keepChoice("density", { value }),
  "sign-out": () => find(".foot form[action$=logout] button").click(),
};
const pressOr = (button, address) => (button ? button.click() : location.assign(address));

function choose(one) {
  palette.close(); // gives the focus back to what had it
  const { key, act: name = "" } = one.dataset;
  const before = document.activeElement;
  if (key) return act(row, key);
  const [what, value] = name.split(":");
  if (!what) return location.assign(one.href);
  if (["edit", "keys"].includes(what)) returnTo(before);
  ACTS[what](one, value);
}

// --------------------------------------------------------------------- asking
// markup that the server has written
const nodesOf = (html) => new DOMParser().parseFromString(html, "text/html").body.childNodes;

async function ask() {
  const text = field.value.trim();
  asked.abort();
  asked = new AbortController();
  const query = encodeURIComponent(text.slice(0, MOST_LETTERS));
  const html = text ? await request(`${palette.dataset.links}?search=${query}`, asked.signal) : "";
  if (html === null) return;
  const before = active && !found.contains(active) ? active : null;
  found.replaceChildren(...nodesOf(html));
  show();
  if (before && !before.hidden) activate(before); // what was chosen meanwhile stays chosen
}

// the text of the answer; null where a newer letter has overtaken it, or it did not come
async function request(address, signal) {
  try {
    const answer = await fetch(address, { headers: { "HX-Request": "true" }, signal });
    if (answer.ok) return await answer.text();
    palette.close();
    toast(gettext("That did not work. Try again in a moment."), "bad");
  } catch (error) {
    if (error.name === "AbortError") return null;
    palette.close();
    toast(LOST(), "bad");
  }
  return null;
}

export { begin };
