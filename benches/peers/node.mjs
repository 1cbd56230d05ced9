// The peers that run on Node: `node node.mjs FOLDER TASK …`, where FOLDER holds node_modules.
// Tasks: peers | load PEER | valid CALLS | traps TRAPS | menders | mend MENDER FILE | mend-value MENDER FILE.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, task, ...rest] = process.argv.slice(2);
const require = createRequire(resolve(folder, "here.js"));
const ENOUGH_MS = 300;

/** The package, or nothing if it is not installed. */
function load(name) {
  try {
    return require(name);
  } catch {
    return undefined;
  }
}

/** The version of each package that is there. */
function peers() {
  const versions = {};
  for (const name of ["ajv", "zod", "jsonrepair"]) {
    try {
      const path = resolve(folder, "node_modules", name, "package.json");
      versions[name] = JSON.parse(readFileSync(path, "utf8")).version;
    } catch {
      // Not installed: it is not a peer, and the caller says why.
    }
  }
  return versions;
}

/** Compiles a schema to a function from a text to the arguments, or undefined where it refuses. */
function ajv(schema, options) {
  const draft7 = String(schema.$schema).includes("draft-07");
  const Ajv = require(draft7 ? "ajv" : "ajv/dist/2020.js").default;
  const instance = new Ajv({ strict: false, ...options });
  load("ajv-formats")?.default(instance);
  const validate = instance.compile(schema);
  return (value) => (validate(value) ? value : undefined);
}

/** zod takes no conditions: it is given the schema without them. */
function zod({ if: _if, then: _then, else: _else, ...schema }) {
  const { z } = require("zod");
  const compiled = z.fromJSONSchema(schema);
  return (value) => {
    const result = compiled.safeParse(value);
    return result.success ? result.data : undefined;
  };
}

/** Ways to judge a call: a name, the packages it takes, and schema to judge. */
const JUDGES = [
  ["JSON.parse + Ajv", ["ajv"], JSON.parse, (schema) => ajv(schema, {})],
  ["JSON.parse + Ajv, coerceTypes", ["ajv"], JSON.parse, (schema) => ajv(schema, { coerceTypes: "array" })],
  ["JSON.parse + zod", ["zod"], JSON.parse, zod],
  ["jsonrepair + Ajv", ["ajv", "jsonrepair"], mend, (schema) => ajv(schema, {})],
].filter(([, packages]) => packages.every((name) => name in peers()));

function mend(text) {
  return JSON.parse(require("jsonrepair").jsonrepair(text));
}

/** Nanoseconds, the best of as many runs as fit; a slow one is run once. */
function best(run) {
  let least = Infinity;
  const began = performance.now();
  while (least === Infinity || performance.now() - began < ENOUGH_MS) {
    const start = process.hrtime.bigint();
    run();
    least = Math.min(least, Number(process.hrtime.bigint() - start));
  }
  return least;
}

/** The arguments as they stand in the file, with a space after each comma and colon. */
function spaced(value) {
  return JSON.stringify(value, null, 1).replace(/,\n */g, ", ").replace(/\n */g, "");
}

function calls(path) {
  const rows = readFileSync(path, "utf8").trim().split("\n");
  return rows.map((line) => {
    const { schema, valid } = JSON.parse(line);
    return { schema, texts: valid.map(spaced) };
  });
}

function valid(path) {
  const times = {};
  const rows = calls(path);
  for (const [name, , parse, compile] of JUDGES) {
    if (name.includes("coerceTypes") || parse === mend) continue;
    const judged = rows.map(({ schema, texts }) => ({ judge: compile(schema), texts }));
    let accepted = 0;
    let count = 0;
    const pass = () => {
      for (const { judge, texts } of judged) {
        for (const text of texts) {
          if (judge(parse(text)) !== undefined) accepted++;
          count++;
        }
      }
    };
    pass();
    const [first, all] = [accepted, count];
    const label = first === all ? name : `${name} (accepts ${first} of ${all})`;
    times[label] = best(pass) / all;
  }
  return times;
}

function traps(path) {
  const list = JSON.parse(readFileSync(path, "utf8"));
  const answers = {};
  for (const [name, , parse, compile] of JUDGES) {
    answers[name] = list.map(({ schema, raw }) => {
      try {
        const value = compile(schema)(parse(raw));
        return value === undefined ? null : JSON.stringify(value);
      } catch {
        return null;
      }
    });
  }
  return answers;
}

function timeMend(file) {
  const text = readFileSync(file, "utf8");
  let read = false;
  const run = () => {
    try {
      read = mend(text) !== undefined;
    } catch {
      read = false;
    }
  };
  return `${best(run)}\t${read}`;
}

const tasks = {
  peers: () => JSON.stringify(peers()),
  load: ([name]) => (require(name), ""),
  valid: ([path]) => JSON.stringify(valid(path)),
  traps: ([path]) => JSON.stringify(traps(path)),
  menders: () => ("jsonrepair" in peers() ? "jsonrepair (Node)" : ""),
  mend: ([, file]) => timeMend(file),
  "mend-value": ([, file]) => JSON.stringify(mend(readFileSync(file, "utf8"))),
};
if (!tasks[task]) {
  console.error(`no task ${task}; one of: ${Object.keys(tasks).join(", ")}`);
  process.exit(2);
}
process.stdout.write(tasks[task](rest) + "\n");
