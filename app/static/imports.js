// How much of a file is sent already? Without this the form is sent as any other, and the browser shows nothing.
import { find, toast } from "./app.js";

const form = find("form[data-upload]");
const sending = form && find("[data-sending]", form);

form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const body = new FormData(form);
  const line = new XMLHttpRequest();
  line.open("POST", form.action);
  // before the body: a page from an earlier session is told so at once
  line.setRequestHeader("X-CSRFToken", body.get("csrf_token"));
  line.upload.addEventListener("progress", show);
  line.addEventListener("load", () => arrived(line));
  line.addEventListener("error", () => failed(find("[data-failed]", form).dataset.failed));
  find("button[type=submit]", form).disabled = true;
  sending.hidden = false;
  line.send(body);
});

function show({ loaded, total }) {
  const words = find("p", sending);
  find("progress", sending).value = loaded / total;
  words.textContent =
    loaded < total
      ? words.dataset.words.replace("{}", new Intl.NumberFormat(document.documentElement.lang, { style: "percent" }).format(loaded / total))
      : words.dataset.looking;
}

// the import's own page, or this one with what is wrong
function arrived(line) {
  if (line.status < 400) return location.assign(line.responseURL);
  const page = new DOMParser().parseFromString(line.responseText, "text/html");
  failed((find("#file-error", page) ?? find("[data-message]", page))?.textContent ?? find("[data-failed]", form).dataset.failed);
}

function failed(words) {
  sending.hidden = true;
  find("button[type=submit]", form).disabled = false;
  toast(words, "bad");
}
