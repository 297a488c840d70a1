// What the statistics pages do beyond plain HTML: charts drawn from the tables beside them, letters that choose
// from the menus, and the newest clicks while somebody looks. Without it, the tables and links are all there.

import { all, find, gettext, ngettext, on } from "./app.js";

// After two quick Backs the page of the first may come last, and would be shown at the address of the second.
let restoring = null;
document.addEventListener("htmx:historyCacheMiss", ({ detail: { xhr } }) => {
  restoring?.abort();
  restoring = xhr;
});

const root = document.documentElement;
const number = new Intl.NumberFormat(root.lang);
const short = new Intl.NumberFormat(root.lang, { notation: "compact", maximumFractionDigits: 1 });

// a variable of the style sheet as a canvas takes it: `light-dark()` is resolved on an element only
function colour(name) {
  const probe = document.createElement("span");
  probe.hidden = true;
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
const faded = (rgb, part) =>
  rgb.replace(/^rgb\((.*)\)$/, (_, parts) => `rgb(${parts.replaceAll(",", " ")} / ${part})`);

// ------------------------------------------------------------------- the line
const charts = new Map();
const PAPER_WIDTH = 660; // within the margins of A4

function linesOf(box) {
  const metric = Number(box.dataset.metric);
  const pick = (row, name) => (row.dataset[name] ? Number(row.dataset[name].split(" ")[metric]) : null);
  const rows = all("tbody tr", box.parentElement);
  return {
    words: rows.map((row) => row.cells[0].textContent),
    before: rows.map((row) => row.cells[3]?.textContent ?? ""),
    short: rows.map((row) => row.dataset.short),
    data: [
      rows.map((_, i) => i),
      rows.map((row) => pick(row, "before")),
      rows.map((row) => pick(row, "now")),
    ],
  };
}

// `k`: how much larger than on the screen all is drawn
function chartOptions(box, { short: names, data }, width, height, k = 1) {
  const [accent, grey, grid] = [colour("--accent"), colour("--ink-3"), colour("--line")];
  const font = `${12 * k}px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: grey, font, ticks: { show: false }, gap: 5 * k };
  return {
    width: width * k,
    height: height * k,
    legend: { show: false },
    padding: [8 * k, 28 * k, 0, 0],
    cursor: {
      y: false,
      drag: { x: false, y: false },
      points: { size: 8, width: 2, fill: accent, stroke: colour("--surface") },
    },
    scales: {
      x: { time: false, range: (_, low, high) => (low === high ? [low - 1, high + 1] : [low, high]) },
      y: { range: (_, __, high) => [0, Math.max(high * 1.08, 4)] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 30 * k,
        space: 70 * k,
        incrs: [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 15, 20, 30, 60, 90, 120, 180, 365],
        values: (_, at) => at.map((i) => names[i] ?? ""),
      },
      {
        ...axis,
        grid: { stroke: grid, width: k },
        size: 44 * k,
        space: 44 * k,
        incrs: [1, 2, 5].flatMap((n) => [...Array(10).keys()].map((e) => n * 10 ** e)).sort((a, b) => a - b),
        values: (_, at) => at.map((n) => short.format(n)),
      },
    ],
    series: [
      {},
      { stroke: grey, width: 1.5 * k, dash: [5 * k, 4 * k], points: { show: false } },
      {
        stroke: accent,
        width: 2 * k,
        fill: (u) => shadeUnder(u, accent),
        points: { show: data[0].length < 2 },
      },
    ],
  };
}

function drawLine(box) {
  if (box.hidden || !window.uPlot) return;
  forget(box);
  const lines = linesOf(box);
  // on paper there is less room, and a picture made for the screen would be small there
  const width = root.classList.contains("printing") ? PAPER_WIDTH : box.clientWidth;
  const options = chartOptions(box, lines, width, box.clientHeight);
  const plugins = [tip(box, lines.words, lines.before, lines.data)];
  const chart = new uPlot({ ...options, plugins }, lines.data, box);
  const watch = new ResizeObserver(() => {
    if (box.clientWidth && !root.classList.contains("printing"))
      chart.setSize({ width: box.clientWidth, height: box.clientHeight });
  });
  watch.observe(box);
  charts.set(box, () => {
    watch.disconnect();
    chart.destroy();
    box.replaceChildren();
  });
}

function shadeUnder(u, accent) {
  const under = u.ctx.createLinearGradient(0, u.bbox.top, 0, u.bbox.top + u.bbox.height);
  under.addColorStop(0, faded(accent, 0.25));
  under.addColorStop(1, faded(accent, 0.02));
  return under;
}

function tip(box, words, before, [, then, now]) {
  const one = document.createElement("div");
  one.className = "chart-tip";
  one.hidden = true;
  const line = (text, count) => {
    const row = document.createElement("span");
    const figure = document.createElement("b");
    figure.textContent = count === null ? "–" : number.format(count);
    row.append(text, figure);
    return row;
  };
  return {
    hooks: {
      init: (u) => u.over.append(one),
      setCursor: (u) => {
        const i = u.cursor.idx;
        one.hidden = i === null || i === undefined || u.cursor.left < 0;
        if (one.hidden) return;
        one.replaceChildren(line(words[i], now[i]), ...(then[i] === null ? [] : [line(before[i], then[i])]));
        const left = u.valToPos(i, "x");
        const isRight = left > u.over.clientWidth / 2;
        one.style.transform = `translate(${Math.round(isRight ? left - one.offsetWidth - 12 : left + 12)}px, 8px)`;
      },
    },
  };
}

function forget(box) {
  charts.get(box)?.();
  charts.delete(box);
}

// ------------------------------------------------------------------- the world
let mapFiles = null;

// the map is large: it is asked for when there is something to draw on it
function loadMap() {
  mapFiles ??= find("#statistics")
    .dataset.map.split(" ")
    .reduce((before, source) => before.then(() => loadScript(source)), Promise.resolve());
  return mapFiles;
}

function loadScript(source) {
  return new Promise((done, fail) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = done;
    script.onerror = fail;
    document.head.append(script);
  });
}

const heat = () => Object.fromEntries(Array.from({ length: 7 }, (_, i) => [i, colour(`--heat-${i}`)]));
const countriesOf = (box) =>
  new Map(all("tr[data-country]", box.parentElement).map((row) => [row.dataset.country, row]));

async function drawWorld(box) {
  if (box.dataset.world) return; // being drawn
  box.dataset.world = "drawing";
  try {
    await loadMap();
  } catch {
    mapFiles = null;
    box.hidden = true; // its table is there
  }
  box.dataset.world = "";
  if (box.hidden || !box.isConnected) return;
  forget(box);
  const rows = countriesOf(box);
  const shades = heat();
  const options = {
    selector: box,
    map: "world",
    zoomOnScroll: false,
    zoomMax: 8,
    regionStyle: {
      initial: { fill: shades[0], stroke: colour("--map-line"), strokeWidth: 0.5 },
      hover: { fillOpacity: 0.75, cursor: "pointer" },
    },
    series: {
      regions: [
        {
          attribute: "fill",
          scale: shades,
          values: Object.fromEntries([...rows].map(([code, row]) => [code, row.dataset.shade])),
        },
      ],
    },
    onRegionClick: (_, code) => find("a", rows.get(code) ?? box)?.click(),
    onRegionTooltipShow: (_, tooltip, code) => {
      const cells = rows.get(code)?.cells;
      const clicks = cells?.[1].textContent ?? "0";
      const values = { place: cells ? cells[0].textContent : tooltip.text(), num: clicks };
      const count = Number(clicks.replace(/\D/g, ""));
      tooltip.text(ngettext("%(place)s: %(num)s click", "%(place)s: %(num)s clicks", count, values));
    },
  };
  let map = null;
  const watch = new ResizeObserver(() => {
    if (!box.clientWidth || !box.clientHeight) return; // a map that was once drawn into nothing never gets its scale back
    if (map) map.updateSize();
    else map = new jsVectorMap(options);
  });
  watch.observe(box);
  charts.set(box, () => {
    watch.disconnect();
    map?.destroy();
    box.replaceChildren();
  });
}

// --------------------------------------------------------------------- drawing
function draw(within) {
  for (const box of charts.keys()) if (!box.isConnected) forget(box);
  const fresh = (selector) => all(selector, within).filter((box) => !charts.has(box));
  fresh("[data-chart]").forEach(drawLine);
  fresh("[data-world]").forEach(drawWorld);
  all("[data-ago]", within).forEach(tellAgo);
  showLetters();
}
document.addEventListener("htmx:load", ({ detail }) => draw(detail.elt.parentElement ?? document));

// other colours: a canvas keeps those it was drawn with
const redraw = () =>
  [...charts.keys()].forEach((box) => ("chart" in box.dataset ? drawLine(box) : drawWorld(box)));
new MutationObserver(redraw).observe(root, { attributeFilter: ["data-theme"] });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

// ------------------------------------------------------------------- shortcuts
// whether letters do anything is chosen once for all pages; links.js keeps it
const letters = () => localStorage.getItem("waypost-keys") !== "off";
const showLetters = () => {
  root.classList.toggle("no-letters", !letters());
  all("#statistics [data-keys]").forEach((box) => (box.checked = letters()));
};
on("change", "[data-keys]", () => setTimeout(showLetters)); // once it is kept

// first of all who listen, for here these letters mean a period
document.addEventListener("keydown", chosenByKey, { capture: true });

function chosenByKey(event) {
  const { target } = event;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
  if (
    target.closest?.("input, select, textarea, [contenteditable], .scroll, .world") ||
    find("dialog[open], :popover-open:not(#toasts)")
  )
    return;
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  if (key.length === 1 && !letters()) return;
  if (key === "Escape" && target.closest?.("details[open]")) return; // that closes the menu
  const link = find(`#statistics [data-key="${CSS.escape(key)}"]`);
  const field = find(`#statistics [data-key-focus="${CSS.escape(key)}"]`);
  if (!link && !field) return;
  event.preventDefault();
  if (link) return link.click();
  field.closest("details").open = true;
  field.focus();
}

// ------------------------------------------------------------- what comes in
const EVERY_MS = 10_000;
const seconds = (time) => Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000);
const ago = new Intl.RelativeTimeFormat(root.lang, { numeric: "always", style: "narrow" });

function tellAgo(time) {
  const passed = seconds(time);
  if (passed < 60) time.textContent = gettext("just now");
  else if (passed < 3600) time.textContent = ago.format(-Math.floor(passed / 60), "minute");
  else if (passed < 86400) time.textContent = ago.format(-Math.floor(passed / 3600), "hour");
}

// nothing is asked while nobody looks, or while it is paused
setInterval(() => {
  if (document.hidden) return;
  all("[data-ago]").forEach(tellAgo);
  if (!find("[data-pause][aria-pressed=true]"))
    all("[data-poll]").forEach((one) => htmx.trigger(one, "poll"));
}, EVERY_MS);
on("click", "[data-pause]", (button) =>
  button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") !== "true"),
);

// ------------------------------------------------------- dialogs, forms of links
// What menus and dialogs need comes with the first sign of someone at the page, before anything can be pressed: it is
// no part of what must be there to read it.
const SIGNS = ["pointermove", "pointerdown", "focusin", "keydown"];
function loadForUse() {
  SIGNS.forEach((name) => removeEventListener(name, loadForUse));
  const styles = document.createElement("link");
  styles.rel = "stylesheet";
  styles.href = new URL("./links.css", import.meta.url);
  document.head.append(styles);
  import("./leaving.js");
}
if (find("#sheet")) SIGNS.forEach((name) => addEventListener(name, loadForUse)); // a shared page has no dialogs
// no part of the page opens one: what they need is loaded when something else does
document.addEventListener("htmx:beforeRequest", ({ detail }) => {
  if (/\/links\/(new|bulk|\d+)(\?|$)/.test(detail.pathInfo.requestPath)) import("./link-form.js");
});

// ------------------------------------------------------------------- failures
const partOf = ({ detail, target }) => (detail.target ?? target).closest?.("[data-part]");

function failed(event) {
  const part = partOf(event);
  if (!part || event.target.closest("[data-poll]")) return; // one of many polls: the next may do
  part.replaceChildren(find("#failed-template").content.cloneNode(true));
  const said = new DOMParser()
    .parseFromString(event.detail.xhr.responseText, "text/html")
    .querySelector("[data-message]");
  if (said) find("p", part).textContent = said.textContent;
  find("[data-retry]", part).dataset.retry =
    event.detail.pathInfo.finalRequestPath ?? event.detail.pathInfo.requestPath;
}
for (const name of ["htmx:responseError", "htmx:sendError", "htmx:timeout"])
  document.addEventListener(name, failed);
on("click", "[data-retry]", (button) =>
  htmx
    .ajax("GET", button.dataset.retry, { target: button.closest("[data-part]"), swap: "innerHTML" })
    .catch(() => {}),
); // said where all requests are

// ------------------------------------------------------ pictures and paper
on("click", "[data-png]", async (button) => {
  button.closest("details.pop")?.removeAttribute("open");
  const { savePicture } = await import("./statistics-picture.js");
  savePicture(button.dataset.png || "chart");
});

const PATIENCE_MS = 15_000;
const STEP_MS = 50;
const unloaded = "#statistics [data-part] > [hx-get]:has(> .skeleton)";

// the browser's own key prints at once, and parts below the fold have not come yet
document.addEventListener("keydown", (event) => {
  const isPrint = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "p";
  if (!isPrint || !find(unloaded)) return;
  event.preventDefault();
  printAll();
});
on("click", "[data-print]", printAll);

async function printAll() {
  all("details.pop[open]").forEach((menu) => (menu.open = false));
  all(unloaded).forEach((part) => htmx.trigger(part, "revealed"));
  for (let waited = 0; waited < PATIENCE_MS && find(`${unloaded}, [data-world=drawing]`); waited += STEP_MS)
    await new Promise((done) => setTimeout(done, STEP_MS));
  await new Promise(requestAnimationFrame); // the map is drawn once it has its size
  window.print();
}

function forPaper(isPrinting) {
  root.classList.toggle("printing", isPrinting);
  all("[data-chart]").forEach(drawLine);
  all("[data-world]").forEach(paintWorld);
}
addEventListener("beforeprint", () => forPaper(true));
addEventListener("afterprint", () => forPaper(false));

// its colours are written into the map; with a view box it shrinks with its box
function paintWorld(box) {
  const rows = countriesOf(box);
  const shades = heat();
  for (const region of all("[data-code]", box)) {
    region.setAttribute("fill", shades[rows.get(region.dataset.code)?.dataset.shade ?? 0]);
    region.setAttribute("stroke", colour("--map-line"));
  }
  const svg = find("svg", box);
  if (svg) fitToPaper(svg, box);
}

// on paper it is as wide as the paper, and as high as what its box shows of the map
function fitToPaper(svg, box) {
  svg.removeAttribute("viewBox");
  svg.style.aspectRatio = "";
  if (!root.classList.contains("printing")) return;
  const map = svg.getBBox(); // smaller than the box, or larger where it is zoomed
  const [left, top] = [Math.max(0, map.x), Math.max(0, map.y)];
  const width = Math.min(box.clientWidth, map.x + map.width) - left;
  const height = Math.min(box.clientHeight, map.y + map.height) - top;
  svg.setAttribute("viewBox", `${left} ${top} ${width} ${height}`);
  svg.style.aspectRatio = `${width} / ${height}`;
}

draw(document);

export { chartOptions, colour, linesOf };
