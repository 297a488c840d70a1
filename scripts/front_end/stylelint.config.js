// Rules for style sheets; their form is prettier's.
export default {
  extends: ["stylelint-config-recommended"],
  ignoreFiles: ["app/static/vendor/**"],
  rules: {
    // rules stand in the order of the page, not of their weight
    "no-descending-specificity": null,
  },
};
