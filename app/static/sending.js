// How is a form sent once, by a line that may be lost or a session that is over, with a sign that it takes its time?

import { all, fetchPart, find, gettext, isList, LOST, on, toast, useToken } from "./app.js";

// a new account begins in the time zone of its browser
for (const field of all("input[data-time-zone]"))
  field.value = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "";

const PATIENCE_MS = 20_000;
const sign = find("#progress");

// ------------------------------------------------------ before a form is sent
// A browser that finds nobody shows a page of its own in place of ours, and so does a server that knows nobody
// any more. With the page goes what was typed: so both are asked first.
const account = document.body.dataset.account; // whose page it is; nobody's before the sign-in

async function look() {
  const asked = { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) };
  try {
    const answer = account
      ? await fetch("/login/session", asked)
      : await fetch("/healthz", { ...asked, method: "HEAD" });
    if (!account) return answer.status < 500 ? {} : null; // a proxy answers for a server that is down
    return answer.ok ? await answer.json() : null;
  } catch {
    return null;
  }
}

// takes over the token of a session that is a new one of the same account
async function isReady(form) {
  const found = await look();
  if (!found) toast(LOST(), "bad");
  if (!found || !account || !form.closest("main, dialog")) return Boolean(found);
  const isOwn = found.account === account;
  if (isOwn) useToken(found.token);
  else tellOver(found);
  return isOwn;
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
  if (!(await isReady(form))) return mark(form, false);
  form.setAttribute("data-found", "");
  form.requestSubmit(submitter);
});

// coming back to it by Back, it may be sent again
addEventListener("pageshow", () => {
  sign?.classList.remove("is-sending", "htmx-request");
  all("form[data-sent]").forEach((form) => mark(form, false));
});

// --------------------------------------------------------- a session is over
// The page stays as it is. Who signs in beside it goes on here.
const over = find("#over");

function tellOver({ email }) {
  over.toggleAttribute("data-other", Boolean(email));
  find("[data-email]", over).textContent = email ?? "";
  if (!over.open) over.showModal();
}

async function lookAgain() {
  if (!over?.open) return;
  const found = await look();
  if (found?.account !== account) return found && tellOver(found);
  useToken(found.token);
  over.close();
  toast(gettext("You are signed in again. What you typed is still here."));
}

document.addEventListener("session-over", async () => {
  const found = await look();
  if (!found) return toast(LOST(), "bad");
  if (found.account !== account) return tellOver(found);
  useToken(found.token); // signed in again meanwhile
  toast(gettext("You are signed in again. What you typed is still here."));
});
document.addEventListener("visibilitychange", () => document.visibilityState === "visible" && lookAgain());
on("click", "#over a", (link, event) => {
  event.preventDefault();
  open(link.href); // so that it may close itself
});

if (account) {
  const channel = new BroadcastChannel("waypost-signed-in");
  channel.addEventListener("message", lookAgain);
  if (find("[data-signed-in]")) {
    channel.postMessage(account);
    if (opener) close();
  }
}

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

export { isReady };
