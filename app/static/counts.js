// Keeps the clicks of the rows on the screen up to date. Nothing else of a row changes, and nothing moves.

import { all, find } from "./app.js";

const EVERY_MS = 5000;
const MOST = 100; // as many as the server answers for at once
const PATIENCE_MS = 20_000;
let isAsking = false;

const isSeen = (row) => {
  const { top, bottom } = row.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
};
const seen = () =>
  all("#rows > .row[data-clicks]")
    .filter((row) => find(".clicks", row) && isSeen(row))
    .slice(0, MOST);

async function ask() {
  const rows = document.hidden || isAsking ? [] : seen();
  if (!rows.length) return;
  isAsking = true;
  try {
    const known = rows.map(({ dataset: { id, clicks } }) => `${id}-${clicks}`).join(",");
    const answer = await fetch(`${find("[data-links]").pathname}clicks?known=${known}`, {
      headers: { "HX-Request": "true" }, // signed out, it is refused instead of led to the sign-in page
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (answer.status === 401) return clearInterval(timer);
    if (answer.ok) draw(await answer.json());
  } catch {
    // no connection: the next time may do
  } finally {
    isAsking = false;
  }
}

function draw(changed) {
  for (const [id, { clicks, html }] of Object.entries(changed)) {
    const row = document.getElementById(`row-${id}`);
    const words = row && find(".clicks", row);
    if (!words) continue; // the list is another one by now
    row.dataset.clicks = clicks;
    words.replaceChildren(...new DOMParser().parseFromString(html, "text/html").body.childNodes);
  }
}

const timer = setInterval(ask, EVERY_MS);
document.addEventListener("visibilitychange", ask);
