// Opens the app, or waits for the person to do it, and goes on to the web address where no app has opened.
//
// `app` is the address that opens it, or null where only a tap does. `web` follows after `wait` milliseconds: after
// the app was tried, or after the page has come. A phone that has opened an app has hidden the page by then.
(function (app, web, wait) {
  "use strict";
  var begun = Date.now(), isAway = false;

  document.addEventListener("visibilitychange", function () { isAway = isAway || document.hidden; });

  function goToWeb() {
    if (!isAway) { location.replace(web); }
  }

  return function () {
    if (app) { location.href = app; }
    setTimeout(goToWeb, app ? wait : Math.max(0, begun + wait - Date.now()));
  };
})
