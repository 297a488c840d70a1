// How much of a file is sent already? Without this the form is sent as any other, and the browser shows nothing.
import { find, LOST, toast } from "./app.js";
import { isReady } from "./sending.js";

const form = find("form[data-upload]");
const sending = form && find("[data-sending]", form);

form?.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (sending.hidden && (await isReady(form))) send();
});

function send() {
  const body = new FormData(form);
  const line = new XMLHttpRequest();
  line.open("POST", form.action);
  // before the body: a page from an earlier session is told so at once
  line.setRequestHeader("X-CSRFToken", body.get("csrf_token"));
  line.upload.addEventListener("progress", show);
  line.addEventListener("load", () => arrived(line));
  line.addEventListener("error", () => failed(LOST()));
  find("button[type=submit]", form).disabled = true;
  sending.hidden = false;
  line.send(body);
}

function show({ loaded, total }) {
  find("progress", sending).value = loaded / total;
  const isAll = loaded >= total;
  find("[data-all]", sending).hidden = !isAll;
  for (const part of [find("[data-part-of]", sending), find("[data-percent]", sending)]) part.hidden = isAll;
  const percent = new Intl.NumberFormat(document.documentElement.lang, { style: "percent" }).format(
    loaded / total,
  );
  find("[data-percent]", sending).textContent = percent;
}

// the import's own page, or this one with what is wrong
function arrived(line) {
  if (line.status < 400) return location.assign(line.responseURL);
  const page = new DOMParser().parseFromString(line.responseText, "text/html");
  failed(
    (find("#file-error", page) ?? find("[data-message]", page))?.textContent ??
      find("[data-failed]", form).textContent,
  );
}

function failed(words) {
  sending.hidden = true;
  find("button[type=submit]", form).disabled = false;
  toast(words, "bad");
}
