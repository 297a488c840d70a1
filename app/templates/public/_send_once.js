(function () {
  var WAIT_MS = 10000, sent = -WAIT_MS;
  document.addEventListener("submit", function (event) {
    var now = performance.now();
    if (now - sent < WAIT_MS) { event.preventDefault(); } else { sent = now; }
  });
  addEventListener("pageshow", function () { sent = -WAIT_MS; });
})();
