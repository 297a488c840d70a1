// Fires the pixels of a sandboxed document and tells the page beside which it stands how far they are.
// `fire` is given the function that reports, and returns the one that sends the pictures.
(function (fire) {
  "use strict";
  var sendPictures = fire(function (isSettled, isRefused) {
    parent.postMessage({ pixels: { isSettled: isSettled, isRefused: isRefused } }, "*");
  });
  addEventListener("message", function (event) {
    if (event.source === parent && event.data === "stand in") { sendPictures(); }
  });
})
