// Statistics as pictures: saves the chart or the map as a PNG. Loaded when the first one is asked for.

import { all, find, gettext, toast } from "./app.js";
import { chartOptions, colour, linesOf } from "./statistics.js";

const SCALE = 2;
const WIDTH = 960;
const HEIGHTS = { chart: 360, map: 480 };
const MARGIN = 24;
const HEAD = 76;

export async function savePicture(name) {
  const box = find(name === "map" ? "[data-world]" : "[data-chart]");
  if (!box || box.hidden) return toast(gettext("There is nothing to draw."), "bad");
  try {
    save(await (name === "map" ? pictureOfMap(box) : pictureOfChart(box)), `${fileName(name)}.png`);
  } catch {
    toast(gettext("The picture could not be made."), "bad");
  }
}

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
