// Gives a sandboxed document cookies and storage in its own memory, and the origin of its address.
//
// In a sandbox the origin is "null", and cookies and storage throw. Google's gtag then sends nothing, and the scripts
// of TikTok and LinkedIn stop (seen with the providers' own scripts in Chromium 156). Nothing here reaches anything
// outside of the document, and all of it is gone with it.
(function () {
  "use strict";
  var cookies = {};

  function define(target, name, descriptor) {
    descriptor.configurable = true;
    Object.defineProperty(target, name, descriptor);
  }

  function isOver(attribute) {
    var pair = attribute.trim().toLowerCase().split("=");
    return (pair[0] === "max-age" && Number(pair[1]) <= 0) || (pair[0] === "expires" && Date.parse(pair[1]) <= Date.now());
  }

  function setCookie(text) {
    var parts = String(text).split(";"), pair = parts.shift().split("="), name = pair.shift().trim();
    if (parts.some(isOver)) { delete cookies[name]; } else { cookies[name] = pair.join("=").trim(); }
  }

  function Storage() {}
  Storage.prototype = {
    getItem: function (name) { return Object.keys(this).indexOf(String(name)) < 0 ? null : this[name]; },
    setItem: function (name, value) { this[name] = String(value); },
    removeItem: function (name) { delete this[name]; },
    clear: function () { Object.keys(this).forEach(this.removeItem, this); },
    key: function (number) { return Object.keys(this)[number] || null; },
    get length() { return Object.keys(this).length; }
  };

  define(document, "cookie", {
    get: function () { return Object.keys(cookies).map(function (name) { return name + "=" + cookies[name]; }).join("; "); },
    set: setCookie
  });
  define(window, "localStorage", { value: new Storage() });
  define(window, "sessionStorage", { value: new Storage() });
  define(window, "origin", { value: location.origin, writable: true });
})();
