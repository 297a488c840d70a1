// Fires pixels once each and knows which of them have counted the view.
//
// `pixels` is a list of {type, id, counts, picture}: `counts` matches the addresses by which the provider's script
// counts a view, `picture` is what counts it without the script; both may be null. `calls` has for each type a
// function of the ids and of `load(address)`. `tell(isSettled, isRefused)` is called at each change: nothing is
// under way, and no provider's script could be had.
//
// Returns a function that sends the pictures of those whose script has not counted the view. What such a script
// asks for afterwards is withheld, so that no view is counted twice.
(function (pixels, calls, tell) {
  "use strict";
  var fetchNow = window.fetch;

  function report() {
    tell(
      pixels.every(function (pixel) { return !pixel.isWaiting && !pixel.pending; }),
      pixels.every(function (pixel) { return pixel.isRefused; })
    );
  }

  // a request of these pixels has begun; returns what is to be called at its end
  function begin(some) {
    some.forEach(function (pixel) { pixel.isWaiting = false; pixel.pending += 1; });
    var isOver = false;
    report();
    return function () {
      if (isOver) { return; }
      isOver = true;
      some.forEach(function (pixel) { pixel.pending -= 1; });
      report();
    };
  }

  function sendPicture(pixel) {
    if (!pixel.isWaiting || !pixel.picture) { return; }
    pixel.isReplaced = true;
    var end = begin([pixel]);
    // a picture of a page that is being left would be given up, a request with `keepalive` is not
    fetchNow(pixel.picture, { mode: "no-cors", credentials: "include", keepalive: true }).then(end, end);
  }

  function sendPictures() { pixels.forEach(sendPicture); }

  // --- which requests count a view

  function decoded(text) {
    try { return decodeURIComponent(text); } catch (error) { return text; }
  }

  function textOf(body) {
    if (body === undefined || body === null) { return ""; }
    if (body instanceof FormData) { body = new URLSearchParams(body); }
    return typeof body === "string" || body instanceof URLSearchParams ? String(body) : null;
  }

  function isMentioned(id, text) {
    return (" " + decoded(text) + " ").split(/[^A-Za-z0-9._:-]+/).indexOf(id) >= 0;
  }

  // of a body that can't be read (null) it is taken that it names the id
  function counted(url, text) {
    return pixels.filter(function (pixel) {
      return pixel.counts && new RegExp("^(?:" + pixel.counts + ")").test(url)
        && (text === null || isMentioned(pixel.id, url) || isMentioned(pixel.id, text));
    });
  }

  // what is to be called when the request has ended; null where the request must not be made
  function watch(address, body) {
    var url = String(address);
    try { url = new URL(url, document.baseURI).href; } catch (error) { return function () {}; }
    var some = counted(url, textOf(body));
    if (!some.length) { return function () {}; }
    return some.every(function (pixel) { return pixel.isReplaced; }) ? null : begin(some);
  }

  function watchFetch() {
    window.fetch = function (resource, options) {
      var isRequest = resource instanceof Request;
      var end = watch(isRequest ? resource.url : resource, isRequest ? resource : options && options.body);
      if (!end) { return Promise.resolve(new Response(null, { status: 204 })); }
      var answer = fetchNow.apply(window, arguments);
      if ((isRequest ? resource : options || {}).keepalive) { end(); } else { answer.then(end, end); }
      return answer;
    };
  }

  function watchBeacons() {
    var send = Navigator.prototype.sendBeacon;
    Navigator.prototype.sendBeacon = function (url, body) {
      var end = watch(url, body);
      if (!end) { return true; }
      end(); // it is sent also when the page is gone
      return send.apply(this, arguments);
    };
  }

  function watchRequests() {
    var open = XMLHttpRequest.prototype.open, send = XMLHttpRequest.prototype.send;
    var addresses = new WeakMap();
    XMLHttpRequest.prototype.open = function (method, url) {
      addresses.set(this, url);
      return open.apply(this, arguments);
    };
    XMLHttpRequest.prototype.send = function (body) {
      var end = watch(addresses.get(this), body);
      if (!end) { return; }
      this.addEventListener("loadend", end);
      send.apply(this, arguments);
    };
  }

  function watchPictures() {
    var source = Object.getOwnPropertyDescriptor(HTMLImageElement.prototype, "src");
    var setAttribute = Element.prototype.setAttribute;
    Object.defineProperty(HTMLImageElement.prototype, "src", {
      configurable: true,
      enumerable: true,
      get: source.get,
      set: function (url) {
        var end = watch(url);
        if (!end) { return; }
        this.addEventListener("load", end);
        this.addEventListener("error", end);
        source.set.call(this, url);
      }
    });
    HTMLImageElement.prototype.setAttribute = function (name, value) {
      if (String(name).toLowerCase() === "src") { this.src = value; } else { setAttribute.apply(this, arguments); }
    };
  }

  // what is asked for in other ways, as by a form or by markup, is noticed once it has come
  function watchTheRest() {
    new PerformanceObserver(function (list) {
      list.getEntries().forEach(function (entry) {
        counted(entry.name, "").forEach(function (pixel) { pixel.isWaiting = false; });
      });
      report();
    }).observe({ entryTypes: ["resource"] });
  }

  // --- the providers' scripts

  function fire(type) {
    var mine = pixels.filter(function (pixel) { return pixel.type === type; });
    var waiting = 0, isLoaded = false;

    function end() {
      waiting -= 1;
      if (waiting) { return; }
      mine.forEach(function (pixel) {
        if (!isLoaded) {
          pixel.isRefused = true;
          sendPicture(pixel);
        }
        // nothing more can be waited for: no script, or one of which nothing is known
        if (!isLoaded || !pixel.counts) { pixel.isWaiting = false; }
      });
      report();
    }

    function load(address) {
      var script = document.createElement("script");
      script.async = true;
      script.src = address;
      script.onload = function () { isLoaded = true; end(); };
      script.onerror = end;
      waiting += 1;
      document.head.appendChild(script);
    }

    try {
      calls[type](mine.map(function (pixel) { return pixel.id; }), load);
    } catch (error) {
      console.error(error);
    }
  }

  pixels.forEach(function (pixel) {
    pixel.isWaiting = true;
    pixel.isReplaced = pixel.isRefused = false;
    pixel.pending = 0;
  });
  watchFetch();
  watchBeacons();
  watchRequests();
  watchPictures();
  watchTheRest();
  Object.keys(calls).forEach(fire);
  // on a page that does not leave by itself, this is the moment of leaving
  addEventListener("pagehide", sendPictures);
  return sendPictures;
})
