// Scripts of visitors' pages are expressions that pages call, which prettier would end with a semicolon: it leaves them out.
export default { printWidth: 110 };
