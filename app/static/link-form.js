// What the form of a link does beyond plain HTML: its preview, what it says before saving, and the lines of
// "Targeting".

import { all, find, on } from "./app.js";

// ------------------------------------------------------------------ preview
const percent = new Intl.NumberFormat(document.documentElement.lang, { style: "percent" });
const MASK = "********";

// that there is a password matters; which one it is does not leave the form before it is saved
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.elt.id === "preview" && detail.parameters.get("password"))
    detail.parameters.set("password", MASK);
});

// a picture that was chosen shows at once, and stays while the rest follows
const chosen = new WeakMap();
on("change", "input[type=file][name=cloaking_opengraph]", (input) => {
  const [file] = input.files;
  chosen.delete(input.form);
  if (!file) return;
  const reader = new FileReader();
  reader.addEventListener("load", () => {
    chosen.set(input.form, reader.result);
    showPicture(input.form);
  });
  reader.readAsDataURL(file);
});

function showPicture(form) {
  const place = find("[data-card-picture]", form);
  if (!place || !chosen.has(form)) return;
  const image = document.createElement("img");
  image.alt = "";
  image.dataset.cardPicture = "";
  image.src = chosen.get(form);
  place.replaceWith(image);
}
// what is said of the short link comes with the preview, and belongs beside its field
function sayOfAlias(form) {
  const [said, place] = [find("[data-alias-note]", form), find("#alias-note", form)];
  if (!said || place.textContent === said.textContent) return;
  place.className = said.className;
  place.replaceChildren(...said.childNodes);
}

// what is to be said before saving comes with the preview, too; a box that is ticked stays as it is
function caution(form) {
  for (const came of all("template[data-cautions-of]", form)) {
    const place = find(`[data-cautions="${came.dataset.cautionsOf}"]`, form);
    if (place && place.textContent.trim() !== came.content.textContent.trim())
      place.replaceChildren(came.content);
  }
}

// the random alias that a new link will get, unless one is typed
function propose(form) {
  const proposed = find("[data-proposed]", form)?.dataset.proposed;
  const kept = find("[name=proposed_alias]", form);
  if (!proposed || !kept) return;
  kept.value = find("[name=url]", form).placeholder = proposed;
  find("[data-proposed-alias]", form).textContent = proposed;
}

on("click", "[data-shuffle]", (button) => {
  const { form } = button;
  find("[name=proposed_alias]", form).value = find("[name=url]", form).value = "";
  htmx.trigger(find("#preview", form), "shuffle");
});

document.addEventListener("htmx:afterSwap", ({ detail: { target } }) => {
  const form = target?.id === "preview" && target.closest("form");
  if (!form) return;
  showPicture(form);
  sayOfAlias(form);
  propose(form);
  caution(form);
});

// ------------------------------------------ what is wrong, beside its form
// an answer that leaves the form as it is says what is wrong in it: that belongs to the fields, too
const BOUND = "data-bound";
function bindErrors(place) {
  for (const control of all(`[${BOUND}]`)) {
    control.setAttribute("aria-describedby", control.getAttribute(BOUND));
    for (const name of ["aria-invalid", BOUND]) control.removeAttribute(name);
  }
  for (const error of all("[data-error-of]", place)) {
    const control = document.getElementById(error.dataset.errorOf);
    if (!control) continue;
    const before = control.getAttribute("aria-describedby") ?? "";
    control.setAttribute(BOUND, before);
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-describedby", `${error.id} ${before.trim()}`.trim());
  }
}
document.addEventListener(
  "htmx:afterSwap",
  ({ detail: { target } }) => target?.matches("[data-has-errors]") && bindErrors(target),
);

// -------------------------------------------------------------- many lines
// their numbers stand beside them, those of the wrong ones marked until lines come or go
function numberLines(area) {
  const numbers = document.createElement("div");
  let wrong = new Set(area.dataset.numbered.split(" ").filter(Boolean));
  let count = 0;
  numbers.className = "numbers";
  numbers.setAttribute("aria-hidden", "true");
  const draw = () => {
    const lines = area.value.split("\n").length;
    if (lines === count) return;
    if (count) wrong = new Set();
    count = lines;
    numbers.replaceChildren(...Array.from({ length: count }, (_, i) => lineNumber(`${i + 1}`, wrong)));
    numbers.scrollTop = area.scrollTop;
  };
  area.before(numbers);
  numbers.style.paddingTop = getComputedStyle(area).paddingTop;
  area.addEventListener("input", draw);
  area.addEventListener("scroll", () => (numbers.scrollTop = area.scrollTop));
  new ResizeObserver(() => (numbers.style.height = `${area.offsetHeight}px`)).observe(area);
  draw();
  const [first] = wrong;
  if (first) toLine(area, Number(first));
}

function lineNumber(text, wrong) {
  const one = document.createElement(wrong.has(text) ? "b" : "span");
  one.textContent = `${text}\n`;
  return one;
}

function toLine(area, number) {
  const lines = area.value.split("\n");
  const start = lines.slice(0, number - 1).reduce((sum, line) => sum + line.length + 1, 0);
  area.focus();
  area.setSelectionRange(start, start + (lines[number - 1]?.length ?? 0));
  area.scrollTop = (number - 3) * parseFloat(getComputedStyle(area).lineHeight);
}

on("click", "[data-line]", (button) =>
  toLine(find("textarea[data-numbered]", button.form), Number(button.dataset.line)),
);
const numberAll = () =>
  all("textarea[data-numbered]")
    .filter((area) => !area.previousElementSibling)
    .forEach(numberLines);
document.addEventListener("htmx:afterSwap", numberAll);
numberAll();

// --------------------------------------------------------- who goes where
const rowsOf = (group) => all("[data-row]", group);
const changed = (group) => {
  rowsOf(group).forEach((row, i) => {
    all("[data-label]", row).forEach((one) =>
      one.setAttribute("aria-label", one.dataset.label.replace("#", i + 1)),
    );
  });
  tellShares(group);
  group.dispatchEvent(new Event("input", { bubbles: true }));
};

// the other line goes round this one: an element that leaves its place for a moment loses focus and pointer
function move(row, step) {
  const other = step < 0 ? row.previousElementSibling : row.nextElementSibling;
  if (!other?.matches("[data-row]")) return false;
  if (step < 0) row.after(other);
  else row.before(other);
  changed(row.closest("[data-rows]"));
  return true;
}

on("click", "[data-move]", (button) => {
  move(button.closest("[data-row]"), Number(button.dataset.move));
  button.focus();
});
on("keydown", "[data-row]", (row, event) => {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!step || !event.altKey) return;
  event.preventDefault();
  const focused = document.activeElement;
  move(row, step);
  focused.focus();
});

// by its handle, with mouse, finger or pen; the first one that takes a line has it until it lets go
const middle = ({ top, height }) => top + height / 2;
const lineAt = (row, clientY) => {
  const { top, bottom } = row.getBoundingClientRect();
  const [above, below] = [row.previousElementSibling, row.nextElementSibling];
  if (clientY < top && above?.matches("[data-row]") && clientY < middle(above.getBoundingClientRect()))
    return -1;
  if (clientY > bottom && below?.matches("[data-row]") && clientY > middle(below.getBoundingClientRect()))
    return 1;
  return 0;
};

on("pointerdown", "[data-grip]", (grip, event) => {
  const row = grip.closest("[data-row]");
  if (event.button !== 0 || row.classList.contains("is-moving")) return;
  const { pointerId } = event;
  event.preventDefault();
  grip.setPointerCapture(pointerId);
  row.classList.add("is-moving");
  const follow = (moved) => {
    const step = moved.pointerId === pointerId && lineAt(row, moved.clientY);
    if (step && move(row, step)) row.scrollIntoView({ block: "nearest" });
  };
  const end = (over) => {
    if (over.pointerId !== pointerId) return;
    row.classList.remove("is-moving");
    grip.removeEventListener("pointermove", follow);
    grip.removeEventListener("lostpointercapture", end);
  };
  grip.addEventListener("pointermove", follow);
  grip.addEventListener("lostpointercapture", end); // let go, or taken away by the browser
});

// what share of visitors each weight is
function tellShares(group) {
  const weights = rowsOf(group).map((row) => Number(find("[data-weight]", row)?.value) || 0);
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  rowsOf(group).forEach((row, i) => {
    const share = find("[data-share]", row);
    if (share) share.textContent = weights[i] ? percent.format(weights[i] / total) : "";
  });
}
on("input", "[data-rows]", tellShares);
on("click", "[data-add-row], [data-remove-row]", (button) => {
  const group = button.closest("[data-rows]") ?? find("[data-rows]:not([hidden])");
  group && changed(group);
});

// ------------------------------------------------- what a destination suggests
on("click", "[data-use]", async (button, event) => {
  event.preventDefault();
  (await import("./link-suggestions.js")).use(button);
});
