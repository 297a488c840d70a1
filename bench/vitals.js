// What does a page tell of itself? `vitals` is read by bench/vitals.py.
// Entries come to an observer some time after the picture they are of, so `read` fetches what is still on its way.
window.vitals = (() => {
  const said = { lcp: 0, lcpOf: "", cls: 0, events: [], frames: [], hidden: document.visibilityState !== "visible" };
  const named = (node) => (node ? (node.id && `#${node.id}`) || (node.className && `.${[...node.classList].join(".")}`) || node.localName : "what is gone");
  const ways = {
    "largest-contentful-paint": (one) => Object.assign(said, { lcp: one.startTime, lcpOf: named(one.element) }),
    "layout-shift": (one) => one.hadRecentInput || (said.cls += one.value),
    event: (one) =>
      one.interactionId &&
      said.events.push({
        id: one.interactionId,
        took: one.duration,
        waited: one.processingStart - one.startTime,
        handled: one.processingEnd - one.processingStart,
        what: `${one.name} on ${named(one.target)}`,
      }),
    "long-animation-frame": (one) => said.frames.push(one.duration),
  };
  const watches = Object.entries(ways).map(([type, take]) => {
    const watch = new PerformanceObserver((list) => list.getEntries().forEach(take));
    watch.observe({ type, buffered: true, durationThreshold: 16 });
    return () => watch.takeRecords().forEach(take);
  });
  document.addEventListener("visibilitychange", () => (said.hidden ||= document.visibilityState !== "visible"));
  const read = () => {
    watches.forEach((take) => take());
    const { events, frames } = said;
    Object.assign(said, { events: [], frames: [] });
    return { ...said, events, frames, presses: performance.interactionCount };
  };
  // nothing asked for is on its way, and what came is painted
  const settled = () =>
    new Promise((done) => {
      const look = () =>
        document.querySelector(".htmx-request, .htmx-swapping, .htmx-settling") ? setTimeout(look, 20) : requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 100)));
      setTimeout(look, 50);
    });
  // a key's going up changes nothing, and until there is another picture its time goes on: so there is one
  const dot = document.createElement("i");
  Object.assign(dot.style, { position: "fixed", top: 0, left: 0, width: "4px", height: "4px", zIndex: 2147483647 });
  const blink = () => {
    if (!dot.isConnected) document.documentElement.append(dot);
    dot.style.background = dot.style.background === "red" ? "green" : "red";
    return new Promise(requestAnimationFrame);
  };
  return { read, settled, blink };
})();
