// How is an open dialog left, by Back as by its buttons, without losing what was typed into it?

import { closeSheet, find, isTouched, KEPT, on, sheet } from "./app.js";

// ------------------------------------------------------------- the question
const question = find("#discard");
const isBegun = () => isTouched(find(KEPT, sheet));

// a promise of whether the dialog may be closed
function ask() {
  if (!isBegun()) return Promise.resolve(true);
  if (question.open) return Promise.resolve(false);
  question.returnValue = "";
  question.showModal();
  return new Promise((answer) =>
    question.addEventListener("close", () => answer(question.returnValue === "discard"), { once: true }),
  );
}

// Closed, all else is no longer inert, for which the browser looks at every element of the page anew: the dialog is
// gone to the eye before.
async function leave() {
  if (!(await ask())) return;
  sheet.classList.add("is-leaving");
  requestAnimationFrame(() => setTimeout(closeSheet));
}

on("click", "[data-close]", leave);
// outside of the box: the dialog itself is the surface around it
sheet.addEventListener("pointerdown", (event) => event.target === sheet && leave());
sheet.addEventListener("cancel", (event) => {
  event.preventDefault();
  leave();
});

// -------------------------------------------------- its place in the history
// Back closes a dialog: while one is open, the history has one entry more. It goes with the dialog.
const isHeld = () => Boolean(history.state?.sheet);
let follows = null; // on a move in the history that is our own
let releasing = 0; // the timer of a closed dialog whose entry is still there
let isLeaving = false; // for another page: a move would stop that

function move(by, then) {
  follows = then;
  history.go(by);
}

function hold() {
  if (isHeld() || follows) return;
  history.scrollRestoration = "manual"; // or its rows would jump when it goes
  history.pushState({ sheet: true }, "");
}

function release() {
  releasing = 0;
  if (!isHeld() || follows || isLeaving || sheet.open) return;
  move(-1, released);
}

function released() {
  history.scrollRestoration = "auto";
  if (sheet.open) hold(); // another one has been opened meanwhile
}

sheet.addEventListener("sheet-open", hold);
sheet.addEventListener("close", () => {
  sheet.classList.remove("is-leaving");
  releasing = setTimeout(release);
});

// where the browser can tell, how far Back went, and whether another page is on its way
let steps = 1;
window.navigation?.addEventListener("currententrychange", ({ from }) => {
  steps = Math.max(1, from.index - navigation.currentEntry.index);
});
window.navigation?.addEventListener("navigate", ({ destination, downloadRequest }) => {
  if (destination.sameDocument || downloadRequest !== null) return;
  isLeaving = true;
  setTimeout(() => (isLeaving = false), 1000);
});

// before htmx, which would draw the list anew
addEventListener(
  "popstate",
  (event) => {
    const then = follows;
    const by = steps;
    follows = null;
    if (then) {
      if (by === 1) event.stopImmediatePropagation(); // else Back was pressed meanwhile, and went further
      then();
    } else if (releasing && !isHeld() && !sheet.open) {
      clearTimeout(releasing);
      releasing = 0;
      released();
      if (by > 1) return;
      // Back right after the dialog was closed has left the dialog's entry alone, which is nothing to see
      event.stopImmediatePropagation();
      history.back();
    } else if (isHeld()) {
      event.stopImmediatePropagation();
      release(); // Forward, to a dialog that is closed
    } else if (sheet.open) back(event, by);
  },
  true,
);

function back(event, by) {
  if (!isBegun()) {
    if (by === 1) event.stopImmediatePropagation(); // the list is as it was
    closeSheet();
    return released();
  }
  event.stopImmediatePropagation();
  if (question.open) question.close();
  else setTimeout(() => askBefore(by));
  move(by, release); // closed before we are back there: "Discard" can be that quick
}

async function askBefore(by) {
  if (!(await ask())) return;
  closeSheet();
  if (by === 1) return; // its entry goes with it
  isLeaving = true;
  setTimeout(() => (isLeaving = false), 1000);
  history.go(-by);
}

if (sheet.open)
  hold(); // opened before this script was there
else if (isHeld()) release(); // the page was opened anew
