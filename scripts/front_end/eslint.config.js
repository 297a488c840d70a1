// Rules for scripts. The dashboard's are modules, visitors' are small and must run in old web views.
import js from "@eslint/js";
import globals from "globals";

const RULES = {
  "no-unused-vars": ["error", { caughtErrors: "none" }],
  eqeqeq: "error",
  "no-eval": "error",
  "no-implied-eval": "error",
  "no-shadow": "error",
};

export default [
  { ignores: ["app/static/vendor/**"] },
  js.configs.recommended,
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["app/static/*.js"],
    languageOptions: {
      ecmaVersion: 2024,
      sourceType: "module",
      globals: { ...globals.browser, htmx: "readonly", jsVectorMap: "readonly", uPlot: "readonly" },
    },
    rules: { ...RULES, "no-var": "error", "prefer-const": "error" },
  },
  {
    files: ["app/pixels/*.js", "app/public/*.js", "app/templates/public/*.js"],
    languageOptions: {
      ecmaVersion: 5,
      sourceType: "script",
      globals: { ...globals.browser, Promise: "readonly", WeakMap: "readonly" },
    },
    rules: RULES,
  },
];
