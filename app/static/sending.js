// How is a form sent once, by a line that may be lost, with a sign that it takes its time?

import { all, fetchPart, find, gettext, isList, LOST, on, toast } from "./app.js";

// a new account begins in the time zone of its browser
for (const field of all("input[data-time-zone]"))
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

const PATIENCE_MS = 20_000;
const sign = find("#progress");

// a browser that finds nobody shows a page of its own in place of ours, and with it goes what was typed:
// so somebody is looked for first
async function isThere() {
  const asked = { method: "HEAD", cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) };
  try {
    return (await fetch("/healthz", asked)).status < 500; // a proxy answers for a server that is down
  } catch {
    return false;
  }
}

function mark(form, isSent) {
  form.toggleAttribute("data-sent", isSent);
  form.removeAttribute("data-found");
  sign?.classList.toggle("is-sending", isSent);
  for (const button of all("button[type=submit]", form)) {
    if (isSent) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

document.addEventListener("submit", async (event) => {
  const { target: form, submitter } = event;
  if (
    event.defaultPrevented ||
    form.method !== "post" ||
    form.matches("[hx-post], [data-theme-form], [data-downloads]")
  )
    return;
  if (form.hasAttribute("data-found")) return form.removeAttribute("data-found");
  event.preventDefault();
  if (form.hasAttribute("data-sent")) return;
  mark(form, true);
  const found = await isThere();
  if (!found) {
    mark(form, false);
    return toast(LOST(), "bad");
  }
  form.setAttribute("data-found", "");
  form.requestSubmit(submitter);
});

// coming back to it by Back, it may be sent again
addEventListener("pageshow", () => {
  sign?.classList.remove("is-sending", "htmx-request");
  all("form[data-sent]").forEach((form) => mark(form, false));
});

// ------------------------------------------------- a list that did not come
for (const name of ["htmx:sendError", "htmx:timeout", "htmx:responseError"])
  document.addEventListener(name, ({ detail }) => isList(detail) && tellFailed(detail));

function tellFailed({ target, pathInfo, xhr }) {
  const part = find("#failed-list-template").content.cloneNode(true);
  const page = new DOMParser().parseFromString(xhr.responseText, "text/html");
  find("p", part).textContent =
    find("[data-message]", page)?.textContent ??
    (xhr.status
      ? gettext("That did not work. Try again in a moment.")
      : gettext("There is no connection to the server."));
  find("[data-list-again]", part).dataset.listAgain = pathInfo.finalRequestPath ?? pathInfo.requestPath;
  target.replaceChildren(part);
}
on("click", "[data-list-again]", (button) => fetchPart(button.dataset.listAgain, "#results"));
