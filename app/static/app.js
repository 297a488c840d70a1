// What the pages do beyond plain HTML. Everything here is an improvement: without it, all still works.
// Listeners sit on the document, so that whatever htmx swaps in needs no setting up.

const root = document.documentElement;

const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const on = (name, selector, act) =>
  document.addEventListener(name, (event) => {
    const target = event.target.closest?.(selector);
    if (target) act(target, event);
  });

// the scripts' messages in the reader's language; one with plural forms has a text for each of the language's kinds
const MESSAGES = JSON.parse(find("meta[name=messages]")?.content ?? "{}");
const plurals = new Intl.PluralRules(root.lang);
const filled = (text, values) => text.replace(/%\((\w+)\)s/g, (slot, name) => values[name] ?? slot);
const gettext = (text, values = {}) => filled(MESSAGES[text] ?? text, values);
const ngettext = (one, many, num, values = {}) =>
  filled(MESSAGES[one]?.[plurals.select(num)] ?? (num === 1 ? one : many), { num, ...values });

// The keys by which an input method composes a word are its own: an Enter that takes the word neither sends a
// form nor chooses anything. (Safari ends the composition first: there only the key's code, 229, tells.)
addEventListener(
  "keydown",
  (event) => {
    if (!event.isComposing && event.keyCode !== 229) return;
    event.stopImmediatePropagation();
    if (event.key === "Enter") event.preventDefault();
  },
  true,
);
// and a search waits for the word
document.addEventListener(
  "input",
  (event) => event.isComposing && event.target.type === "search" && event.stopImmediatePropagation(),
  true,
);
on("compositionend", "input[type=search]", (field) =>
  field.dispatchEvent(new Event("input", { bubbles: true })),
);

// ------------------------------------------------------------------ messages
const SHOWN_MS = 6000;
const UNDO_SHOWN_MS = 20_000; // time to think

function toast(text, tone = "good", ...more) {
  const region = find("#toasts");
  const one = find("#toast-template").content.firstElementChild.cloneNode(true);
  one.classList.add(tone);
  one.firstElementChild.textContent = text;
  one.firstElementChild.after(...more);
  region.append(one);
  raise(region);
  fade(one);
}

// what was made is copied at once; where the browser wants a click for that, the message has a button
async function toastAndCopy(text, address) {
  const buttons = canShare ? [buttonIn("share", address)] : [];
  if (await copy(address)) return toast(`${text} ${find("#toasts").dataset.copied}`, "good", ...buttons);
  toast(text, "good", buttonIn("copy", address), ...buttons);
}

function buttonIn(name, address) {
  const button = find(`#${name}-template`).content.firstElementChild.cloneNode(true);
  button.dataset[name] = address;
  return button;
}

// an open dialog lies above everything: the region must be opened again to lie above it
function raise(region) {
  if (!region.showPopover) return;
  if (region.matches(":popover-open")) region.hidePopover();
  region.showPopover();
}

function fade(one) {
  if (one.classList.contains("bad")) return; // what went wrong stays until it is read
  let timer;
  const hold = () => clearTimeout(timer);
  const start = () => {
    hold();
    if (!one.matches(":hover, :focus-within"))
      timer = setTimeout(() => one.remove(), find("form", one) ? UNDO_SHOWN_MS : SHOWN_MS);
  };
  one.addEventListener("pointerenter", hold);
  one.addEventListener("focusin", hold);
  one.addEventListener("pointerleave", start);
  one.addEventListener("focusout", start);
  start();
}

on("click", "[data-dismiss]", (button) => {
  button.closest(".toast").remove();
  if (!sheet?.open) (opener?.isConnected ? opener : find("main"))?.focus();
});
document.body.addEventListener("toast", ({ detail: { value, copy: address } }) =>
  address ? toastAndCopy(value, address) : toast(value),
);
document.body.addEventListener("toast-warning", (event) => toast(event.detail.value, "bad"));
if (find("#toasts .toast")) {
  raise(find("#toasts"));
  all("#toasts .toast").forEach(fade);
}

// ------------------------------------------------------------------- dialog
const sheet = find("#sheet");
let opener = null;

const firstError = (within) =>
  find(
    ":is(input, select, textarea)[aria-invalid=true], fieldset[aria-invalid=true] input:not([type=hidden])",
    within,
  );

function showSheet() {
  if (sheet.open) return;
  sheet.showModal();
  raise(find("#toasts"));
  sheet.dispatchEvent(new Event("sheet-open"));
}

// `isAnew`: not the same form again, with what was wrong in it
function openSheet(isAnew = true) {
  const first = firstError(sheet) ?? find("[autofocus]", sheet) ?? find("h2", sheet);
  sheet.classList.toggle("is-small", Boolean(find("[data-small]", sheet)));
  showSheet();
  prepare(sheet);
  noteInitial(sheet, isAnew);
  openFoldOf(first);
  first?.focus();
}

// ---------------------------------------------- forms that were begun
const KEPT = "form[data-keep]";
const initial = new WeakMap(); // what a form held when it was opened

const contents = (form) =>
  JSON.stringify(
    [...new FormData(form)]
      .filter(([key]) => !/^(csrf_token|shown_values|suggested_.+)$/.test(key))
      .map(([key, value]) => [key, value.name ?? value]),
  );
const isTouched = (form) => Boolean(form) && initial.has(form) && initial.get(form) !== contents(form);

// a form that came back with what was wrong in it still counts from what it held when it was opened
let inSheet = "";
function noteInitial(within, isAnew) {
  for (const form of all(KEPT, within)) {
    const isNew = isAnew && !firstError(form) && !find(".conflict", form);
    const before = isNew ? contents(form) : within === sheet ? inSheet : "";
    initial.set(form, before);
    if (within === sheet) inSheet = before;
  }
}

// reloading, going back or closing the tab asks first, in the browser's own words
addEventListener("beforeunload", (event) => {
  if (all(KEPT).some((form) => isTouched(form) && !form.hasAttribute("data-sent"))) event.preventDefault();
});

let isClosing = false;
function closeSheet() {
  if (!sheet.open) return;
  isClosing = true;
  sheet.close();
  returnFocus(); // now: by the time of its event, the focus may be elsewhere already
}

function returnFocus() {
  const back = returning ?? opener;
  returning = null;
  (back?.isConnected ? back : find("main")).focus();
}

// A dialog makes all else inert, for which the browser looks at every element of the page anew: that gets a picture
// of its own, before what is in the dialog comes.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target?.id !== "sheet-box" || !detail.shouldSwap) return;
  if (sheet.open) return detail.target.replaceChildren(); // htmx would say good-bye to each element
  showSheet();
  detail.swapOverride = "innerHTML swap:1ms";
});

document.body.addEventListener("sheet-close", closeSheet);
sheet?.addEventListener("close", () => {
  const byItself = !isClosing;
  isClosing = false;
  // a phone's second Back closes it without asking
  if (byItself && isTouched(find(KEPT, sheet))) return showSheet();
  find("#sheet-box").replaceChildren();
  if (byItself) returnFocus();
});

// -------------------------------------------------------------------- htmx
let returning = null;
const returnTo = (element) => (returning = element); // instead of what the next request is sent by

document.addEventListener("htmx:beforeRequest", ({ target }) => {
  if (!sheet?.open) opener = returning ?? target;
  returning = null;
});
document.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "sheet-box") return openSheet(detail.xhr.status < 400);
  if (isList(detail)) return;
  prepare(document); // also after Back, when all of the page is swapped
  if (detail.requestConfig?.verb !== "post" || detail.elt.closest("[data-quiet]")) return;
  if (detail.xhr.status < 400) afterWrite();
  else (firstError(find("main")) ?? find("main")).focus();
});

// the rows after and before the one that the next answer may take away
let neighbours = [];
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  const by = detail.target?.id === "results" && (returning ?? opener);
  const row =
    by &&
    (by.closest("#rows > .row") ??
      (by.closest("#many") && all("#rows > .row:has([name=ids]:checked)").at(-1)));
  const ids = row ? [...row.parentElement.children].map((one) => one.id) : [];
  const at = row ? ids.indexOf(row.id) : 0;
  neighbours = [...ids.slice(at + 1), ...ids.slice(0, at).reverse()];
});

// the row that was made or changed gets the focus, or the next of one that is gone
function afterWrite() {
  const next = neighbours.map((id) => document.getElementById(id)).find(Boolean);
  const row = find("#rows > .is-new") ?? next;
  opener = find("#results [data-lands]") ?? (row && find("a[href], button", row));
  returning = null;
  (opener ?? find("main")).focus();
}

const LOST = () =>
  gettext("There is no connection to the server. What you typed is still here: try again in a moment.");

// a part that comes by itself says in its own place that it did not, or comes again with the next letter
const saysItself = ({ detail }) => detail.target?.closest?.("[data-part], [data-quiet]") || isList(detail);
const isList = ({ target, requestConfig }) => target?.id === "results" && requestConfig?.verb === "get"; // sending.js says it
document.addEventListener("htmx:sendError", (event) => saysItself(event) || toast(LOST(), "bad"));
document.addEventListener(
  "htmx:timeout",
  (event) => saysItself(event) || toast(gettext("The server takes too long. Try again in a moment."), "bad"),
);
document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  if (saysItself(event)) return;
  const fresh = xhr.getResponseHeader("X-CSRFToken");
  // sending.js says it, and where to sign in
  if (xhr.status === 401 || (fresh && xhr.getResponseHeader("X-Account") !== document.body.dataset.account))
    return document.dispatchEvent(new Event("session-over"));
  if (fresh) useToken(fresh);
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  toast(
    find("[data-message]", page)?.textContent ?? gettext("That did not work. Try again in a moment."),
    "bad",
  );
});

function useToken(token) {
  document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": token }));
  all("input[name=csrf_token]").forEach((input) => (input.value = token));
}

// -------------------------------------------------------------------- copy
// it is for the bookmarks bar: here, the policy of the page keeps it from running
on("click", "[data-bookmarklet]", (link, event) => {
  event.preventDefault();
  toast(link.dataset.bookmarklet);
});
on("click", "[data-copy]", async (button) => {
  const done = await copy(button.dataset.copy);
  if (!done) return toast(find("#toasts").dataset.notCopied, "bad");
  button.classList.add("is-copied");
  setTimeout(() => button.classList.remove("is-copied"), 1500);
  toast(find("#toasts").dataset.copied);
});

// the device's own way to give something on: on phones, mostly
const canShare = typeof navigator.share === "function";
root.classList.toggle("can-share", canShare);
on("click", "[data-share]", async ({ dataset: { share: text } }) => {
  try {
    await navigator.share(text.includes("\n") ? { text } : { url: text });
  } catch (error) {
    if (error.name === "AbortError") return; // closed without a choice
    const { copied, notCopied } = find("#toasts").dataset;
    toast(...((await copy(text)) ? [copied] : [notCopied, "bad"]));
  }
});

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text); // plain HTTP has no clipboard
  }
}

function copyBySelection(text) {
  const area = document.createElement("textarea");
  const before = document.activeElement;
  area.value = text;
  area.className = "sr";
  area.setAttribute("aria-hidden", "true");
  (find("dialog[open]") ?? document.body).append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  before?.focus();
  return done;
}

// ------------------------------------------------------------------ colours
on("submit", "[data-theme-form]", (form, event) => {
  event.preventDefault();
  find("meta[name=color-scheme]").content = keepChoice("theme", event.submitter) || "light dark";
});

on("submit", "[data-density-form]", (form, event) => {
  event.preventDefault();
  keepChoice("density", event.submitter);
});

// what is pressed of a group of buttons: kept in a cookie, as the server does it, and told on the root
function keepChoice(name, { value }) {
  const [prefix, secure] = location.protocol === "https:" ? ["__Host-", "; Secure"] : ["", ""];
  document.cookie = `${prefix}waypost_${name}=${value}; Path=/; SameSite=Lax; Max-Age=${value ? 31536000 : 0}${secure}`;
  if (value) root.dataset[name] = value;
  else delete root.dataset[name];
  all(`button[name=${name}]`).forEach((button) =>
    button.setAttribute("aria-pressed", button.value === value),
  );
  return value;
}

// -------------------------------------------------------------- small panels
const panels = () => all("details.pop[open]");
document.addEventListener("pointerdown", ({ target }) =>
  panels().forEach((panel) => !panel.contains(target) && (panel.open = false)),
);
document.addEventListener("keydown", (event) => {
  const panel = event.target.closest?.("details.pop[open]");
  if (event.key !== "Escape" || !panel) return;
  panel.open = false;
  find("summary", panel).focus();
});

// -------------------------------------------------------------------- forms
const folds = (within) => all("details.fold:has(.says)", within);
const openFoldOf = (element) => {
  for (let fold = element?.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
};
document.addEventListener("invalid", ({ target }) => openFoldOf(target), true);

// what a control says in its fold while it is on: its word, or its own value where the word is "value"
function saysOf(control) {
  const kind = control.type;
  const isOn =
    kind === "checkbox"
      ? control.checked
      : kind === "file"
        ? control.files.length || "saysStored" in control.dataset
        : control.value;
  if (!isOn || control.value === control.dataset.saysNot) return null;
  if (control.dataset.says !== "value") return control.dataset.says;
  return control.tagName === "SELECT" ? control.selectedOptions[0].text : control.value;
}

function tell(fold) {
  const words = [
    ...new Set(
      all("[data-says]", fold)
        .filter((c) => !c.parentElement.closest("[hidden]"))
        .map(saysOf)
        .filter(Boolean),
    ),
  ];
  fold.classList.toggle("is-on", words.length > 0);
  if (!fold.classList.contains("has-error")) find(".says", fold).textContent = words.join(", ");
}

on("input", "details.fold", tell);
on("change", "details.fold", tell);

// panels that belong to one choice: [data-for] lists the values of [data-chooses=name] that show it
function choose(form) {
  for (const panel of all("[data-for]", form)) {
    const [name, ...values] = panel.dataset.for.split(" ");
    const control = find(`[name="${name}"]:checked`, form) ?? find(`select[name="${name}"]`, form);
    panel.hidden = !values.includes(control?.value ?? "");
  }
}
on("change", "form", (form) => {
  choose(form);
  folds(form).forEach(tell);
});

// a name that nobody has given yet is that of the type
on("change", "[data-kind]", (radio) => {
  const field = find("[data-named-by-kind]", radio.form);
  if (!field || (field.value && field.value !== field.dataset.named)) return;
  field.value = field.dataset.named = radio.closest("label").textContent.trim();
});

// rows of pairs: one more is a clone of the last, emptied
on("click", "[data-add-row]", (button, event) => {
  event.preventDefault();
  const rows = all("[data-row]", button.closest("[data-rows]"));
  const row = rows.at(-1).cloneNode(true);
  clearRow(row);
  rows.at(-1).after(row);
  number(row.parentElement);
  find("input, select", row).focus();
});

on("click", "[data-remove-row]", (button) => {
  const row = button.closest("[data-row]");
  const group = row.closest("[data-rows]");
  const next = row.nextElementSibling?.matches("[data-row]")
    ? row.nextElementSibling
    : row.previousElementSibling;
  if (all("[data-row]", group).length > 1) row.remove();
  else clearRow(row);
  number(group);
  find("input, select", next?.matches("[data-row]") ? next : group)?.focus();
  folds(document).forEach(tell);
});

function clearRow(row) {
  all("input, select", row).forEach((control) => {
    control.value = "";
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-describedby");
  });
  all(".error", row).forEach((error) => error.remove());
}

// each row's controls are named by its place: "Country 2", and removal says which
function number(group) {
  all("[data-row]", group).forEach((row, i) => {
    all("[data-label]", row).forEach((c) =>
      c.setAttribute("aria-label", c.dataset.label.replace("#", i + 1)),
    );
  });
}

// tags: a chip each, over the textarea that holds one a line
function tagBox(area) {
  const box = document.createElement("div");
  const input = document.createElement("input");
  box.className = "tag-box";
  input.id = area.id;
  area.removeAttribute("id");
  input.setAttribute("list", area.dataset.list ?? "");
  for (const name of ["aria-describedby", "aria-invalid"])
    if (area.hasAttribute(name)) input.setAttribute(name, area.getAttribute(name));
  input.autocomplete = "off";
  area.hidden = true;
  area.after(box);
  let tags = area.value.split("\n").filter(Boolean);

  const draw = () => {
    area.value = tags.join("\n");
    box.replaceChildren(...tags.map(chip), input);
    area.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const chip = (tag) => {
    const one = document.createElement("span");
    const text = document.createElement("bdi");
    const remove = document.createElement("button");
    one.className = "chip";
    text.textContent = tag;
    remove.type = "button";
    remove.setAttribute("aria-label", gettext("Remove %(tag)s", { tag }));
    remove.append(find("#icon-x-template").content.cloneNode(true));
    remove.addEventListener("click", () => {
      tags = tags.filter((other) => other !== tag);
      draw();
      input.focus();
    });
    one.append(text, remove);
    return one;
  };
  const take = () => {
    const typed = input.value
      .split(",")
      .map((word) => word.trim())
      .filter(Boolean);
    input.value = "";
    if (!typed.length) return false;
    tags = [...new Set([...tags, ...typed])];
    draw();
    return true;
  };
  input.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "," || event.key === "Enter") {
      const typed = input.value.trim();
      if (typed || event.key === ",") event.preventDefault();
      take();
      input.focus();
    } else if (event.key === "Backspace" && !input.value && tags.length) {
      tags.pop();
      draw();
      input.focus();
    }
  });
  input.addEventListener("change", take);
  input.addEventListener("blur", take);
  box.addEventListener("pointerdown", (event) => {
    if (event.target === box) setTimeout(() => input.focus());
  });
  draw();
}

// a control that counts what is typed into it
function counted(area) {
  const target = find(`#${area.dataset.counts}`);
  const count = () => {
    const lines = area.value.split("\n").filter((line) => line.trim()).length;
    target.textContent = ngettext("%(num)s address.", "%(num)s addresses.", lines);
  };
  area.addEventListener("input", count);
  count();
}

function prepare(within) {
  all("textarea[data-tags]", within)
    .filter((area) => !area.hidden)
    .forEach(tagBox);
  all("textarea[data-counts]", within).forEach(counted);
  all("form", within).forEach(choose);
  folds(within).forEach(tell);
}

// what was deleted can be put back right from the message that says so
document.body.addEventListener("toast-undo", ({ detail: { value, undo } }) => {
  const form = find("#undo-template").content.firstElementChild.cloneNode(true);
  form.action = undo;
  form.setAttribute("hx-post", undo);
  form.setAttribute("hx-sync", "this:drop");
  toast(value, "good", form);
  htmx.process(form);
});
on("htmx:afterRequest", ".toast form", (form) => form.closest(".toast").remove());

const isField = (element) =>
  Boolean(
    element?.closest?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]"),
  );
document.addEventListener("keydown", (event) => {
  const isUndo = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "z";
  const button = isUndo && !sheet?.open && !isField(event.target) && all("#toasts .toast form button").at(-1);
  if (!button) return;
  event.preventDefault();
  button.click();
});

prepare(document);
const wrong = find("main") && firstError(find("main"));
openFoldOf(wrong);
wrong?.focus();
if (find("main")) noteInitial(find("main"), true);

// a part that a script asks for: that it failed is said where all of htmx's requests are
const fetchPart = (address, into) => htmx.ajax("GET", address, into).catch(() => {});

// ----------------------------------------------------------------- passkeys
// the script for them comes only where one is used
on("click", "[data-passkey]", async (button) => (await import(button.dataset.passkey)).ask(button));

export {
  all,
  closeSheet,
  copy,
  fetchPart,
  find,
  gettext,
  isField,
  isList,
  keepChoice,
  isTouched,
  KEPT,
  LOST,
  ngettext,
  on,
  openFoldOf,
  openSheet,
  returnTo,
  sheet,
  tell,
  toast,
  useToken,
};
