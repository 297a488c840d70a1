// Statistics on paper and as pictures: prints the page with all of its parts, in light colours, and saves the
// chart or the map as a PNG.

import { all, find, gettext, on, toast } from "./app.js";
import { chartOptions, colour, countriesOf, heat, linesOf, redrawLines } from "./statistics.js";

const root = document.documentElement;

// -------------------------------------------------------------------- paper
const PATIENCE_MS = 15_000;
const STEP_MS = 50;

on("click", "[data-print]", printAll);
document.addEventListener("keydown", (event) => {
  const isPrint = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key === "p";
  if (!isPrint || !all("#statistics [data-part] > [hx-get]").length) return;
  event.preventDefault(); // parts that are below the fold have not come yet
  printAll();
});

async function printAll() {
  all("details.pop[open]").forEach((menu) => (menu.open = false));
  all("#statistics [data-part] > [hx-get]").forEach((part) => htmx.trigger(part, "revealed"));
  const isComing = () => find("#statistics [data-part] > [hx-get] .skeleton, [data-world='drawing']");
  for (let waited = 0; isComing() && waited < PATIENCE_MS; waited += STEP_MS)
    await new Promise((done) => setTimeout(done, STEP_MS));
  await new Promise(requestAnimationFrame); // the map is drawn once it has its size
  window.print();
}

addEventListener("beforeprint", () => {
  root.classList.add("printing");
  redrawLines();
  all("[data-world]").forEach(fitWorld);
});
addEventListener("afterprint", () => {
  root.classList.remove("printing");
  redrawLines();
  all("[data-world]").forEach(paintWorld);
});

// the map shrinks with its box, whatever it was drawn for
function fitWorld(box) {
  const svg = paintWorld(box);
  if (svg && !svg.hasAttribute("viewBox"))
    svg.setAttribute("viewBox", `0 0 ${box.clientWidth} ${box.clientHeight}`);
}

function paintWorld(box) {
  const rows = countriesOf(box);
  const shades = heat();
  for (const region of all("[data-code]", box)) {
    region.setAttribute("fill", shades[rows.get(region.dataset.code)?.dataset.shade ?? 0]);
    region.setAttribute("stroke", colour("--map-line"));
  }
  return find("svg", box);
}

// ----------------------------------------------------------------- pictures
const SCALE = 2;
const WIDTH = 960;
const HEIGHTS = { chart: 360, map: 480 };
const MARGIN = 24;
const HEAD = 76;

on("click", "[data-png]", async (button) => {
  button.closest("details.pop")?.removeAttribute("open");
  const name = button.dataset.png || "chart";
  const box = find(name === "map" ? "[data-world]" : "[data-chart]");
  if (!box || box.hidden) return toast(gettext("There is nothing to draw."), "bad");
  try {
    save(await (name === "map" ? pictureOfMap(box) : pictureOfChart(box)), `${fileName(name)}.png`);
  } catch {
    toast(gettext("The picture could not be made."), "bad");
  }
});

const fileName = (name) => {
  const { file } = find("[data-file]").dataset;
  return name === "chart" ? file : `${file}-${name}`;
};

async function save(canvas, name) {
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

async function pictureOfChart(box) {
  const lines = linesOf(box);
  const height = HEIGHTS.chart;
  const holder = document.createElement("div");
  const chart = new uPlot(chartOptions(box, lines, WIDTH - 2 * MARGIN, height, SCALE), lines.data, holder);
  await new Promise(requestAnimationFrame); // it draws a moment later
  const metric = find(".total[aria-current] .title")?.textContent ?? "";
  const { canvas, draw } = sheet(height, metric, all(".legend .key"));
  draw(chart.ctx.canvas, WIDTH - 2 * MARGIN);
  chart.destroy();
  return canvas;
}

async function pictureOfMap(box) {
  const svg = find("svg", box).cloneNode(true);
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  svg.setAttribute("viewBox", `0 0 ${box.clientWidth} ${box.clientHeight}`);
  const fit = Math.min((WIDTH - 2 * MARGIN) / box.clientWidth, HEIGHTS.map / box.clientHeight);
  svg.setAttribute("width", box.clientWidth * fit * SCALE);
  svg.setAttribute("height", box.clientHeight * fit * SCALE);
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
  await image.decode();
  const title = find("h2", box.parentElement).textContent;
  const { canvas, draw } = sheet(box.clientHeight * fit, title, []);
  draw(image, box.clientWidth * fit);
  return canvas;
}

// a canvas with background, heading and legend; `draw` puts a picture below them
function sheet(height, metric, keys) {
  const canvas = document.createElement("canvas");
  canvas.width = WIDTH * SCALE;
  canvas.height = (HEAD + height + MARGIN) * SCALE;
  const pen = canvas.getContext("2d");
  const family = getComputedStyle(document.body).fontFamily;
  pen.scale(SCALE, SCALE);
  pen.fillStyle = colour("--surface");
  pen.fillRect(0, 0, WIDTH, HEAD + height + MARGIN);
  const write = (text, x, y, font, ink) => {
    pen.font = `${font} ${family}`;
    pen.fillStyle = colour(ink);
    pen.fillText(text, x, y, WIDTH - MARGIN - x);
    return x + pen.measureText(text).width;
  };
  const { title, period } = find("[data-file]").dataset;
  write(`${title} · ${metric}`, MARGIN, 34, "600 18px", "--ink");
  let x = MARGIN;
  for (const key of keys) {
    pen.fillStyle = colour(key.matches(".before") ? "--ink-3" : "--accent");
    pen.fillRect(x, 52, 14, 3);
    x = write(key.textContent, x + 20, 58, "13px", "--ink-2") + 24;
  }
  if (!keys.length) write(period, MARGIN, 58, "13px", "--ink-2");
  const draw = (image, width) => pen.drawImage(image, MARGIN, HEAD, width, height);
  return { canvas, draw };
}
