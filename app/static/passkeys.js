// How does a passkey of the browser get into a form, which is then sent like any other?

import { find, gettext, LOST, toast } from "./app.js";

const bytes = (text) =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0));
const text = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");

const named = (list = []) => list.map((one) => ({ ...one, id: bytes(one.id) }));

// the options as the server writes them, with bytes where the browser wants bytes
function read(options) {
  const { challenge, user, allowCredentials, excludeCredentials } = options;
  return {
    ...options,
    challenge: bytes(challenge),
    ...(user && { user: { ...user, id: bytes(user.id) } }),
    ...(allowCredentials && { allowCredentials: named(allowCredentials) }),
    ...(excludeCredentials && { excludeCredentials: named(excludeCredentials) }),
  };
}

const PARTS = ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"];

function written({ id, rawId, type, response }) {
  const parts = PARTS.filter((name) => response[name]).map((name) => [name, text(response[name])]);
  const said = { ...Object.fromEntries(parts), transports: response.getTransports?.() };
  return JSON.stringify({ id, rawId: text(rawId), type, response: said });
}

class Unanswered extends Error {}

async function optionsAt(address) {
  let answer;
  try {
    answer = await fetch(address, { cache: "no-store", headers: { "HX-Request": "true" } });
  } catch {
    throw new Unanswered(LOST());
  }
  if (answer.ok) return answer.json();
  if (answer.status === 401 && document.body.dataset.account)
    document.dispatchEvent(new Event("session-over"));
  throw new Unanswered(gettext("That did not work. Try again in a moment."));
}

// `more`: how the browser is to ask
async function use(form, address, more = {}) {
  const { create, get } = await optionsAt(address);
  const found = create
    ? await navigator.credentials.create({ publicKey: read(create), ...more })
    : await navigator.credentials.get({ publicKey: read(get), ...more });
  const remember = find("input[type=checkbox][name=remember]");
  if (remember && form.elements.remember) form.elements.remember.value = remember.checked ? "1" : "0";
  form.elements.passkey.value = written(found);
  form.requestSubmit();
}

function tell(error) {
  if (error.name === "AbortError") return;
  if (error instanceof Unanswered) return toast(error.message, "bad");
  if (error.name === "InvalidStateError")
    return toast(gettext("This device or security key has a passkey for your account already."), "bad");
  toast(gettext("No passkey was used. The browser says: %(words)s", { words: error.message }), "bad");
}

export async function ask(button) {
  if (button.hasAttribute("aria-disabled")) return;
  if (!window.PublicKeyCredential) return toast(gettext("This browser can't use passkeys."), "bad");
  button.setAttribute("aria-disabled", "true");
  autofill?.abort();
  try {
    await use(button.form, button.dataset.options);
  } catch (error) {
    tell(error);
    offer();
  } finally {
    button.removeAttribute("aria-disabled");
  }
}

// -------------------------------------------------------------------- autofill
// The browser offers passkeys with the addresses that it knows. It waits for as long as the page is open, a
// challenge does not: so it is asked anew from time to time.
const RENEWED_MS = 240_000;
const offered = find("form[data-autofill]");
let autofill = null;

async function offer() {
  if (!offered || !(await window.PublicKeyCredential?.isConditionalMediationAvailable?.())) return;
  autofill?.abort();
  autofill = new AbortController();
  try {
    await use(offered, offered.dataset.autofill, { mediation: "conditional", signal: autofill.signal });
  } catch {
    // nothing was asked for: the form for the password is there
  }
}

if (offered) {
  offer();
  setInterval(() => document.visibilityState === "visible" && offer(), RENEWED_MS);
}
