// What the list of links does beyond plain HTML: making one from anywhere, a menu and keys for each row,
// changing a destination in its place, selecting many.

import { all, copy, fetchPart, find, isField, LOST, on, openSheet, returnTo, sheet, toast } from "./app.js";

// those of links alone: other lists have rows, too
const rows = () => all("#rows > .row[data-id]");
const rowOf = (element) => element?.closest?.("#rows > .row[data-id]");

// ------------------------------------------------------------------- create
const ADDRESS = /^(https?:\/\/\S+|[^\s/?#:@]+\.[^\s/?#:@.]{2,}([:/?#]\S*)?)$/i;
const LIST = "links-to-make"; // handed over from another page
const mayCreate = () => "creates" in document.body.dataset; // by the reader's role
let pasted = "";

// the links' own page has the buttons; any other page goes there first
function create(text = "") {
  if (!mayCreate()) return false;
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);
  const button = find(lines.length > 1 ? "[data-create=many]" : "[data-create=one]");
  if (!button) {
    sessionStorage.setItem(LIST, text);
    return location.assign(find("[data-links]").href);
  }
  pasted = lines.join("\n");
  button.click();
}

document.addEventListener("htmx:afterSwap", ({ detail }) => {
  const field =
    pasted && detail.target?.id === "sheet-box" && find("[name=location_url], [name=location_urls]", sheet);
  if (!field) return;
  field.value = pasted;
  pasted = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
});

document.addEventListener("paste", (event) => {
  const text = event.clipboardData?.getData("text").trim() ?? "";
  const lines = text.split(/\r?\n/).filter((line) => line.trim());
  if (
    sheet?.open ||
    !mayCreate() ||
    isField(event.target) ||
    !lines.length ||
    !lines.every((line) => ADDRESS.test(line.trim()))
  )
    return;
  event.preventDefault();
  create(text);
});

// ---------------------------------------------------------------- row's menu
const menu = find("#row-menu");
let menuOf = null; // the button that opened it
let backTo = null; // gets the focus back after what was chosen

function fill(row) {
  const address = find("a.name", row).href;
  menu.replaceChildren(find("#row-menu-template").content.cloneNode(true));
  for (const element of all("a, form", menu))
    // what has addresses
    for (const { name, value } of [...element.attributes])
      if (value.includes("/links/0/") || value.endsWith("/links/0") || value.endsWith("copy=0"))
        element.setAttribute(
          name,
          value
            .replace(/\/links\/0(?=\/|$)/, `/links/${row.dataset.id}`)
            .replace(/copy=0$/, `copy=${row.dataset.id}`),
        );
  find("[data-key=y]", menu).dataset.copy = address;
  find("[data-share]", menu).dataset.share = address;
  find("[data-key=o]", menu).href = address;
  const state = find("[data-switch]", menu); // none for who may not change links
  if (state) {
    const isOff = row.classList.contains("is-off");
    state.textContent = state.dataset[isOff ? "on" : "off"];
    find("[name=is_enabled]", menu).value = isOff ? "1" : "0";
  }
  htmx.process(menu);
}

on("click", "[data-menu]", (button, event) => {
  event.preventDefault();
  if (menu.matches(":popover-open") && menuOf === button) return menu.hidePopover();
  menuOf = backTo = button;
  fill(rowOf(button));
  menu.showPopover();
  const at = button.getBoundingClientRect();
  const above = at.bottom + menu.offsetHeight + 8 > innerHeight && at.top > menu.offsetHeight + 8;
  menu.style.top = `${Math.max(8, above ? at.top - menu.offsetHeight - 4 : Math.min(at.bottom + 4, innerHeight - menu.offsetHeight - 8))}px`;
  menu.style.left = `${Math.max(8, at.right - menu.offsetWidth)}px`;
  find(".item", menu).focus();
});

menu?.addEventListener("toggle", ({ newState }) => {
  if (newState === "closed" && menu.contains(document.activeElement)) menuOf?.focus();
});
addEventListener("scroll", () => menu?.matches(":popover-open") && menu.hidePopover(), { passive: true });
addEventListener("resize", () => menu?.matches(":popover-open") && menu.hidePopover());

menu?.addEventListener("click", ({ target }) => {
  if (!target.closest(".item")) return;
  menu.hidePopover();
  returnTo(backTo);
});
menu?.addEventListener("keydown", (event) => {
  const items = all(".item", menu).filter((item) => item.offsetParent);
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const to =
    event.key === "Home"
      ? 0
      : event.key === "End"
        ? items.length - 1
        : step && items.indexOf(document.activeElement) + step;
  if (to === undefined) return;
  event.preventDefault();
  items.at(to % items.length).focus();
});

// ------------------------------------------------- what was created in bulk
on("click", "[data-created-end]", (button) => {
  button.closest("[data-created]").remove();
  (find("#rows a.name") ?? find("main")).focus();
});

// ------------------------------------------------------------- in its place
on("click", "[data-inplace]", (link, event) => {
  const row = rowOf(link) ?? rowOf(menuOf);
  if (!row) return;
  event.preventDefault();
  event.stopPropagation();
  find(".inplace", row)?.remove();
  fetchPart(link.href, { source: row, target: find(".main", row), swap: "beforeend" }).then(() =>
    find(".inplace input[name=location_url]", row)?.select(),
  );
});

function endInPlace(form) {
  const row = rowOf(form);
  form.remove();
  find("a.name", row).focus();
}
on("click", "[data-inplace-end]", (button) => endInPlace(button.closest(".inplace")));

// --------------------------------------------------------------- select many
const boxes = () => all("#rows input[name=ids]");
const many = () => find("#many");
let last = null; // where a range begins

function tellSelected() {
  const form = many();
  if (!form) return document.documentElement.classList.remove("is-choosing");
  const chosen = boxes().filter((box) => box.checked).length;
  const matching = find("[name=all]", form);
  if (!chosen) matching.checked = false;
  const isAll = matching.checked;
  form.classList.toggle("is-on", chosen > 0);
  document.documentElement.classList.toggle("is-choosing", chosen > 0);
  find("[data-selected]", form).textContent = isAll ? matching.dataset.total : chosen;
  find("[data-select-page]", form).hidden = chosen === boxes().length || isAll;
  find("label.matching", form).hidden = chosen < boxes().length && !isAll;
  if (measured === form) return;
  bar.disconnect();
  bar.observe((measured = form));
}

// The room that the bar takes at the foot: what has the focus is scrolled clear of it. Told after the picture, as a
// change at the root makes the browser look at every element of the page anew.
let measured = null;
const bar = new ResizeObserver(([{ target }]) =>
  setTimeout(() =>
    document.documentElement.style.setProperty(
      "--bar",
      `${target.offsetHeight ? target.offsetHeight + 20 : 0}px`,
    ),
  ),
);

function selectTo(box) {
  const list = boxes();
  const [from, to] = [list.indexOf(last), list.indexOf(box)].sort((a, b) => a - b);
  if (from >= 0) list.slice(from, to + 1).forEach((one) => (one.checked = box.checked));
}

on("click", "#rows input[name=ids]", (box, event) => {
  if (event.shiftKey) selectTo(box);
  last = box;
});
on("change", "#rows input[name=ids], #many [name=all]", (box) => {
  if (box.name === "all" && box.checked) boxes().forEach((one) => (one.checked = true));
  if (box.name === "ids" && !box.checked) find("[name=all]", many()).checked = false;
  tellSelected();
});
on("click", "[data-select-page]", () => selectAll(true));
on("click", "[data-select-none]", () => {
  selectNone();
  find("#rows a.name")?.focus();
});
const selectNone = () => selectAll(false); // the focus stays
function selectAll(isOn) {
  boxes().forEach((box) => (box.checked = isOn));
  tellSelected();
}
document.addEventListener("htmx:afterSettle", tellSelected);
addEventListener("pageshow", tellSelected);
// the text under the pointer is not what a shift-click on a box is for
document.addEventListener(
  "mousedown",
  (event) => event.shiftKey && event.target.closest(".pick") && event.preventDefault(),
);

// --------------------------------------------------------------------- keys
const KEYS = "waypost-keys";
const areOn = () => localStorage.getItem(KEYS) !== "off";

function showHelp() {
  find("#sheet-box").replaceChildren(find("#keys-template").content.cloneNode(true));
  find("[data-keys]", sheet).checked = areOn();
  openSheet();
}
on("click", "[data-keys-help]", (button) => {
  returnTo(button);
  showHelp();
});
on("change", "[data-keys]", (box) => localStorage.setItem(KEYS, box.checked ? "on" : "off"));

function go(step) {
  const list = rows();
  const now = list.indexOf(rowOf(document.activeElement));
  const row = list[now < 0 ? (step > 0 ? 0 : list.length - 1) : now + step];
  if (!row) return false;
  find("a.name", row).focus();
  row.scrollIntoView({ block: "nearest" });
  return true;
}

function act(row, key) {
  if (key === "x") {
    const box = find("input[name=ids]", row); // none for who may not change links
    box?.click();
    return Boolean(box);
  }
  fill(row);
  menuOf = find("[data-menu]", row);
  backTo = find("a.name", row);
  const item = all("[data-key]", menu).find((one) => one.dataset.key === key);
  if (!item) return false;
  item.click();
  return true;
}

const PAGE = {
  c: () => create(),
  "/": () => find("#ask-search")?.focus(),
  "?": () => showHelp(),
  j: () => go(1),
  k: () => go(-1),
};

document.addEventListener("keydown", (event) => {
  const { target, key } = event;
  if (isForPalette(event)) return openPalette(event);
  if (palette?.open) return;
  const form = target.closest?.(".inplace");
  if (key === "Escape" && form) return endInPlace(form);
  if (
    event.defaultPrevented ||
    event.altKey ||
    sheet?.open ||
    isField(target) ||
    target.closest?.("details.pop[open], [popover]")
  )
    return;
  const row = rowOf(document.activeElement);
  if (key === "Escape" && many()?.classList.contains("is-on")) return selectNone();
  if (event.ctrlKey || event.metaKey) return withControl(event, row);
  const isLetter = key.length === 1;
  if (isLetter && !areOn()) return;
  const name = isLetter ? key.toLowerCase() : key;
  const done =
    name === "ArrowDown" && row
      ? go(1)
      : name === "ArrowUp" && row
        ? go(-1)
        : row && name !== "?" && act(row, name)
          ? true
          : PAGE[name]
            ? PAGE[name]() !== false
            : false;
  if (done) event.preventDefault();
});

// ------------------------------------------------------------------ palette
const palette = find("#palette");
let rowBefore = null; // the row that had the focus when the palette was opened

const isForPalette = ({ key, ctrlKey, metaKey, shiftKey, altKey }) =>
  (ctrlKey || metaKey) && !shiftKey && !altKey && key.toLowerCase() === "k" && palette && !sheet.open;

// It opens at once, so that what is typed goes into its field; what it can do comes when it is needed first.
async function openPalette(event) {
  event.preventDefault();
  if (palette.open) return palette.close();
  rowBefore = rowOf(document.activeElement);
  palette.showModal();
  try {
    (await import("./palette.js")).begin(rowBefore);
  } catch {
    palette.close();
    toast(LOST(), "bad");
  }
}
on("click", "[data-palette]", (button, event) => openPalette(event));
on("click", "[data-palette-end]", () => palette.close());
palette?.addEventListener("pointerdown", ({ target }) => target === palette && palette.close());

// the usual combinations mean the row while it is focused
function withControl(event, row) {
  if (!row || event.shiftKey) return;
  if (event.key === "c" && !getSelection().toString()) {
    event.preventDefault();
    copyOf(row);
  } else if (event.key === "a") {
    event.preventDefault();
    selectAll(true);
  }
}

async function copyOf(row) {
  const done = await copy(find("a.name", row).href);
  toast(...(done ? [find("#toasts").dataset.copied] : [find("#toasts").dataset.notCopied, "bad"]));
}

// ------------------------------------------------------- came from elsewhere
addEventListener("load", () => {
  const brought = sessionStorage.getItem(LIST);
  if (brought === null || !find("[data-create]")) return;
  sessionStorage.removeItem(LIST);
  create(brought);
});

export { act, create, fill, menu, palette, showHelp };
