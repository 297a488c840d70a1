// Leaves the page once all pixels have counted the view, or the time is up.
//
// `leave` goes on to the destination. `parts` names what fires pixels: "page", this document itself, and "sandbox", the
// frame beside it. `soonest`, `standIn` and `latest` are milliseconds: nothing is left before the first, save where no
// provider's script could be had; at the second, pictures stand in for scripts that have counted nothing; the third
// is the end whatever is under way.
(function (leave, parts, soonest, standIn, latest) {
  "use strict";
  var isSettled = {}, isRefused = {}, isTime = false, hasLeft = false;
  var standIns = [function () { sandbox() && sandbox().postMessage("stand in", "*"); }];

  function sandbox() {
    var frame = document.querySelector("iframe.box");
    return frame && frame.contentWindow;
  }

  function go() {
    if (hasLeft) { return; }
    hasLeft = true;
    leave();
  }

  function check() {
    var isReady = parts.every(function (part) { return isSettled[part]; });
    if (isReady && (isTime || parts.every(function (part) { return isRefused[part]; }))) { go(); }
  }

  function tell(part, settled, refused) {
    isSettled[part] = settled;
    isRefused[part] = refused;
    check();
  }

  addEventListener("message", function (event) {
    var told = event.data && event.data.pixels;
    if (told && event.source === sandbox()) { tell("sandbox", told.isSettled, told.isRefused); }
  });
  setTimeout(function () { isTime = true; check(); }, soonest);
  setTimeout(function () { standIns.forEach(function (send) { send(); }); }, standIn);
  setTimeout(go, latest);
  return {
    // for the pixels of this document: where they report, and what sends their pictures
    tell: tell.bind(null, "page"),
    addStandIn: function (send) { standIns.push(send); }
  };
})
