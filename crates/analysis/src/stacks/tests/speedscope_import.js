// Loads profiles with the importer of speedscope, which is part of its web page, and prints what it found:
// node speedscope_import.js DIRECTORY_OF_THE_PACKAGE FILE...
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [directory, ...files] = process.argv.slice(2);
const release = path.join(directory, "dist", "release");
const bundle = fs.readdirSync(release).find((name) => /^speedscope-.*\.js$/.test(name));
let code = fs.readFileSync(path.join(release, bundle), "utf8");
// The function has another name in each version: it is found by what it calls.
const found = /async function ([\w$]+)\([\w$]+,[\w$]+\)\{return\(await [\w$]+\)\.importProfileGroupFromBase64\(/.exec(code);
if (!found) { throw new Error("the importer is not where it was"); }
code = code.replace("(()=>{", "(()=>{globalThis.importProfile=" + found[1] + ";");
// The page around the importer finds a browser in which everything is there and does nothing, except for what the
// importer itself would take from others if it were there.
const missing = ["then", "Long", "dcodeIO", "process", "util"];
const nothing = new Proxy(function () {}, {
  get: (target, key) => (key === Symbol.toPrimitive ? () => "" : missing.includes(key) ? undefined : nothing),
  apply: () => nothing,
  construct: () => nothing,
  set: () => true,
});
const quiet = { log() {}, warn() {}, error() {}, debug() {}, info() {}, time() {}, timeEnd() {} };
const context = {
  window: nothing, self: nothing, global: nothing, document: nothing, navigator: { userAgent: "", platform: "" }, location: nothing,
  console: quiet, atob, btoa, TextDecoder, TextEncoder, URL, setTimeout, clearTimeout, performance,
  localStorage: nothing, requestAnimationFrame() {}, matchMedia: nothing, alert() {}, history: nothing, WebAssembly,
  HTMLElement: nothing, Node: nothing, Element: nothing, Uint8Array, ArrayBuffer, Blob, fetch() {},
};
vm.createContext(context);
try {
  vm.runInContext(code, context);
} catch (error) {
  // What is not the importer may miss its browser.
}
(async () => {
  for (const file of files) {
    const base64 = fs.readFileSync(file).toString("base64");
    const group = await context.importProfile(path.basename(file), base64);
    if (!group) { throw new Error(file + ": not recognized"); }
    const profiles = group.profiles.map((profile) => {
      const weights = {};
      let depth = 0, deepest = 0;
      profile.forEachCall(() => { deepest = Math.max(deepest, ++depth); }, () => { depth -= 1; });
      profile.forEachFrame((frame) => { weights[frame.name] = [frame.getSelfWeight(), frame.getTotalWeight()]; });
      return { name: profile.getName(), unit: profile.getWeightUnit(), total: profile.getTotalNonIdleWeight(), deepest, weights };
    });
    process.stdout.write(JSON.stringify(profiles) + "\n");
  }
})().catch((error) => {
  console.error(String(error && error.stack || error));
  process.exit(1);
});
