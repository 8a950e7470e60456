// The playground's page. Whatever it shows is put in as text, never as HTML: filters and documents
// come from links, and anybody can make one.

const root = document.getElementById("vecstore-playground");
const place = root.dataset.place;
const at = (id) => document.getElementById(`vp-${id}`);
const MARKS = { true: "✓", false: "✗", unknown: "?", unusable: "–" };
const MOST_DOCUMENTS = 500;
const LONGEST_LINK = 6000;

const SIX = [
  '{"title": "Bread", "lang": "en", "year": 2021, "status": "final", "tags": ["food", "baking"]}',
  '{"title": "Brot", "lang": "de", "year": 2019, "status": "draft", "tags": ["food"]}',
  '{"title": "Servers", "lang": "en", "year": 2023, "tags": []}',
  '{"title": "A diary", "lang": "en", "year": null, "status": null}',
  '{"title": "Codes", "lang": "en", "year": "2022", "status": 5}',
  '{"title": "A series", "lang": "en", "year": [2020, 2021], "status": ["final", "draft"], "author": {"name": "Ada"}}',
];
const FIRST = "lang == 'en' AND year >= 2020 AND NOT (status == 'draft')";
const EXAMPLES = {
  six: [
    ["status != 'draft'", "what is absent matches: five databases give five answers to it"],
    ["NOT (year < 2020)", "not the same as year >= 2020 to Python; here it is, with unknown for what has no order"],
    ["tags IN ['food', 'travel'] OR author.name == 'Ada'", "an element of a list is enough; a path into an object"],
    ["year IS NULL OR title >= 'B' AND title < 'C'", "texts in order, which some databases do not have"],
    ["country == BG", "an error, and what to write instead"],
  ],
  docstrings: [
    ["kind == 'function' AND length < 400", "one text and one number"],
    ["package.name NOT IN ['distutils', 're'] AND source.\"first line\" <= 200", "nested keys, one of them with a space"],
    ["deprecated IS NULL AND NOT (kind == 'module' OR async == true)", "what is absent, and a negated OR"],
    ["raises IS NOT NULL AND NOT (raises == 'ValueError')", "the elements of lists"],
    ["\"doc.words\" >= 60 AND NOT (\"words per line\" < 2)", "names that hold dots and spaces"],
  ],
};

const samples = { six: SIX };
let rows = [];
let sample = "six";
let engine = null;

// --- small things ---------------------------------------------------------------------------------

function made(tag, classes, text) {
  const element = document.createElement(tag);
  if (classes) element.className = classes;
  if (text !== undefined) element.textContent = text;
  return element;
}

function put(element, ...children) {
  element.replaceChildren(...children);
  return element;
}

function say(text) {
  at("state").textContent = text;
  at("state").hidden = !text;
}

// What cannot change the page is not written to it: screen readers and the layout stay at rest.
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// --- who answers ----------------------------------------------------------------------------------

class Local {
  async ask(request) {
    const response = await fetch("answer", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: request,
    });
    if (!response.ok) throw new Error((await response.text()).trim());
    return await response.text();
  }
}

class InBrowser {
  constructor() {
    this.waiting = new Map();
    this.number = 0;
    this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => {
      const { resolve, reject } = this.waiting.get(data.number);
      this.waiting.delete(data.number);
      if (data.failed === undefined) resolve(data.answer);
      else reject(new Error(data.failed));
    };
    this.worker.onerror = (event) => {
      const error = new Error(event.message || "Python could not be started in this browser");
      for (const { reject } of this.waiting.values()) reject(error);
      this.waiting.clear();
    };
  }
  ask(request) {
    const number = (this.number += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(number, { resolve, reject });
      this.worker.postMessage({ number, request });
    });
  }
}

// --- asking: one question at a time, and then the latest ------------------------------------------

let busy = false;
let due = false;

async function ask() {
  due = true;
  if (busy || !engine) return;
  busy = true;
  root.setAttribute("aria-busy", "true");
  while (due) {
    due = false;
    const asked = performance.now();
    const request = { filter: at("filter").value, documents: rows.map((row) => row.field.value), data: at("data").value };
    try {
      const answer = JSON.parse(await engine.ask(JSON.stringify(request)));
      say("");
      if (rows.length === request.documents.length) show(answer);
      root.dataset.answered = request.filter;
      const detail = { milliseconds: performance.now() - asked, filter: request.filter, documents: rows.length };
      root.dispatchEvent(new CustomEvent("playground:answered", { detail }));
    } catch (error) {
      say(`No answer: ${error.message}`);
    }
  }
  busy = false;
  root.removeAttribute("aria-busy");
}

// --- showing --------------------------------------------------------------------------------------

// An error's text as it is printed everywhere, with its excerpt in lines that are not broken: the
// carets have to stand under what they point at.
function errorParts(text) {
  const parts = [];
  let excerpt = null;
  for (const line of text.split("\n")) {
    if (line.startsWith("    ") && !line.startsWith("hint: ")) {
      if (!excerpt) {
        excerpt = made("span", "vp-excerpt");
        excerpt.tabIndex = 0;
        excerpt.setAttribute("role", "region");
        excerpt.setAttribute("aria-label", "where it is");
        parts.push(excerpt);
      } else {
        excerpt.append("\n");
      }
      const bare = line.slice(4);
      excerpt.append(/^ *\^+$/.test(bare) ? made("span", "vp-caret", bare) : bare);
      continue;
    }
    const last = parts[parts.length - 1];
    if (last && last !== excerpt) parts.push("\n");
    parts.push(line.startsWith("hint: ") ? made("span", "vp-hint", line) : made("span", "", line.trim()));
  }
  return parts;
}

function show(answer) {
  const error = answer.error;
  at("filter").toggleAttribute("aria-invalid", false);
  if (error) at("filter").setAttribute("aria-invalid", "true");
  at("error").hidden = !error;
  put(at("error"), ...(error ? errorParts(error.shown) : []));
  const reading = answer.filter;
  at("reading").hidden = !reading;
  if (reading) {
    write(at("text"), reading.text);
    write(at("normalized"), reading.normalized === reading.text ? "nothing to rewrite" : reading.normalized);
  }
  const steps = reading ? [...reading.rewrites.map((one) => `→ ${one.replaceAll("  ->  ", "  becomes  ")}`), ...reading.remarks.map((one) => `! ${one}`)] : [];
  put(at("steps"), ...steps.map((one) => made("li", "", one)));
  at("schema").hidden = !answer.schema && !answer.schema_error;
  write(at("schema"), answer.schema_error || `As the documents on this page have it: ${answer.schema}`);
  showDialects(answer);
  showVerdicts(answer.documents);
  tell(answer);
}

const STATES = {
  exact: ["answers exactly", "vp-exact"],
  everything: ["is asked for everything", "vp-exact"],
  nothing: ["needs no call: nothing can match", "vp-exact"],
  refused: ["refuses", "vp-refused"],
  failed: ["cannot be used", "vp-refused"],
};

function showDialects(answer) {
  if (!answer.dialects.length) {
    put(at("dialects"), made("p", "vp-quiet", answer.error ? "Not asked: the filter cannot be read yet." : "Type a filter."));
    return;
  }
  put(at("dialects"), ...answer.dialects.map(dialectCard));
}

function dialectCard(told) {
  const card = made("div", "vp-dialect");
  card.dataset.dialect = told.name;
  card.dataset.state = told.state;
  const [words, colour] = STATES[told.state];
  const title = put(made("h3"), made("span", "", told.name), made("span", colour, words));
  if (told.options) title.append(made("span", "vp-quiet", told.options));
  card.append(title);
  if (told.error) {
    card.append(put(made("pre", "vp-error"), ...errorParts(told.error)));
    if (told.partial) card.append(made("p", "vp-quiet", `With residual="evaluate": ${told.partial}.`));
    return card;
  }
  card.append(made("pre", "vp-query", told.query));
  if (told.params.length) {
    const list = made("dl", "vp-params");
    for (const [name, value] of told.params) list.append(made("dt", "", name), made("dd", "", value));
    card.append(list);
  }
  return card;
}

function showVerdicts(documents) {
  const counts = {};
  documents.forEach((told, number) => {
    const row = rows[number];
    counts[told.verdict] = (counts[told.verdict] || 0) + 1;
    const key = JSON.stringify(told);
    if (row.told === key) return;
    row.told = key;
    row.verdict = told.verdict;
    row.line.dataset.verdict = told.verdict;
    if (told.verdict === "none") {
      put(row.mark);
      put(row.why);
      return;
    }
    row.field.toggleAttribute("aria-invalid", false);
    if (told.verdict === "unusable") row.field.setAttribute("aria-invalid", "true");
    const mark = `${MARKS[told.verdict]} ${told.verdict}`;
    if (row.mark.textContent !== mark) put(row.mark, made("span", `vp-verdict vp-${told.verdict}`, mark));
    if (told.because) put(row.why, made("span", "", told.because));
    else showReasons(row.why, told);
  });
  narrow();
  const parts = ["true", "false", "unknown", "unusable"].filter((one) => counts[one]).map((one) => `${counts[one]} ${one}`);
  write(at("counts"), parts.length ? `${parts.join(", ")}.` : "");
}

// While a filter is typed most reasons keep their number and change a word: the elements stay.
function showReasons(cell, told) {
  let list = cell.firstElementChild;
  if (list?.tagName !== "UL") put(cell, (list = made("ul", "vp-why")));
  const reasons = told.reasons || [];
  const wanted = reasons.length + (told.left_out ? 1 : 0);
  while (list.childElementCount > wanted) list.lastElementChild.remove();
  for (let number = 0; number < wanted; number += 1) {
    const isReason = number < reasons.length;
    let item = list.children[number];
    if (!item || (item.firstElementChild !== null) !== isReason) {
      const fresh = isReason ? put(made("li"), made("code"), "") : made("li", "vp-quiet");
      if (item) item.replaceWith(fresh);
      else list.append(fresh);
      item = fresh;
    }
    if (isReason) {
      write(item.firstElementChild, reasons[number][0]);
      write(item.lastChild, ` – ${reasons[number][1]}`);
    } else {
      write(item, `${told.reasons ? "and" : "one of"} ${told.left_out} ${told.reasons ? "more" : "expressions; too many to say why"}`);
    }
  }
}

function narrow() {
  const wanted = at("show").value;
  let shown = 0;
  for (const row of rows) {
    const out = Boolean(wanted) && row.verdict !== wanted && row.field !== document.activeElement;
    row.line.hidden = out;
    shown += out ? 0 : 1;
  }
  at("none").hidden = shown > 0;
}

// What a screen reader says: once typing rests, the whole outcome in one sentence.
let telling = 0;

function tell(answer) {
  clearTimeout(telling);
  telling = setTimeout(() => {
    if (answer.error) {
      write(at("live"), `Error in the filter: ${answer.error.message}.${answer.error.hint ? ` Hint: ${answer.error.hint}` : ""}`);
      return;
    }
    if (!answer.filter) return write(at("live"), "");
    const refusing = answer.dialects.filter((one) => one.state === "refused" || one.state === "failed").map((one) => one.name);
    const counts = at("counts").textContent;
    write(at("live"), `${counts} ${refusing.length ? `Refused by ${refusing.join(", ")}.` : "Every database answers it exactly."}`);
  }, 700);
}

// --- documents ------------------------------------------------------------------------------------

function addRow(text) {
  const line = made("tr");
  line.setAttribute("role", "row");
  const [mark, cell, why] = ["td", "td", "td"].map((tag) => made(tag));
  for (const one of [mark, cell, why]) one.setAttribute("role", "cell");
  const field = made("textarea");
  field.value = text;
  field.rows = 2;
  field.spellcheck = false;
  const remove = made("button", "vp-remove", "Remove");
  remove.type = "button";
  const row = { line, field, mark, why, remove, told: "", verdict: "" };
  field.addEventListener("input", () => {
    edited();
    changed();
  });
  remove.addEventListener("click", () => {
    const number = rows.indexOf(row);
    rows.splice(number, 1);
    line.remove();
    name();
    edited();
    changed();
    (rows[Math.min(number, rows.length - 1)]?.remove || at("add")).focus();
  });
  put(cell, field, remove);
  put(line, mark, cell, why);
  rows.push(row);
  return row;
}

function name() {
  rows.forEach((row, number) => {
    row.field.setAttribute("aria-label", `Metadata of document ${number + 1}`);
    row.remove.setAttribute("aria-label", `Remove document ${number + 1}`);
  });
  at("add").disabled = rows.length >= MOST_DOCUMENTS;
}

function fill(texts) {
  rows = [];
  for (const text of texts) addRow(text);
  put(at("rows"), ...rows.map((row) => row.line));
  name();
}

function edited() {
  sample = "own";
  at("sample").querySelector('[value="own"]').hidden = false;
  at("sample").value = "own";
}

async function choose(wanted) {
  if (wanted === "docstrings" && !samples.docstrings) {
    const response = await fetch(new URL("docstrings.json", import.meta.url));
    if (!response.ok) throw new Error(`docstrings.json: ${response.status}`);
    // Line by line: what JavaScript reads as numbers would come back rounded.
    samples.docstrings = (await response.text()).split("\n").map((line) => line.replace(/,$/, "")).filter((line) => line.startsWith("{"));
  }
  sample = wanted;
  at("sample").value = wanted;
  fill(samples[wanted]);
  offer();
}

function offer() {
  const listed = EXAMPLES[sample] || EXAMPLES.six;
  put(at("examples"), ...listed.map(([filter, about]) => {
    const button = put(made("button"), filter, made("span", "", about));
    button.type = "button";
    button.addEventListener("click", () => {
      at("filter").value = filter;
      changed();
      at("filter").focus();
    });
    return put(made("li"), button);
  }));
}

// --- the address ----------------------------------------------------------------------------------

function state() {
  const parts = new URLSearchParams();
  parts.set("filter", at("filter").value);
  if (at("data").value !== "ours") parts.set("data", at("data").value);
  if (sample === "docstrings") parts.set("sample", sample);
  if (sample === "own") {
    const texts = rows.map((row) => row.field.value);
    if (JSON.stringify(texts).length <= LONGEST_LINK) for (const text of texts) parts.append("document", text);
  }
  return parts.toString();
}

let keeping = 0;

function changed() {
  write(at("shared"), "");
  clearTimeout(keeping);
  // Browsers take only so many changes of the address in a row.
  keeping = setTimeout(() => history.replaceState(null, "", `#${state()}`), 250);
  ask();
}

async function restore() {
  const parts = new URLSearchParams(location.hash.slice(1));
  at("filter").value = parts.get("filter") ?? FIRST;
  const data = parts.get("data");
  at("data").value = [...at("data").options].some((one) => one.value === data) ? data : "ours";
  const texts = parts.getAll("document").slice(0, MOST_DOCUMENTS);
  if (texts.length) {
    fill(texts);
    edited();
    offer();
    return;
  }
  try {
    await choose(parts.get("sample") === "docstrings" ? "docstrings" : "six");
  } catch (error) {
    say(`The sample cannot be read: ${error.message}`);
    await choose("six");
  }
}

// --- beginning ------------------------------------------------------------------------------------

async function start() {
  // Python takes the longest, so it is started before anything else is put into the page.
  if (root.dataset.engine === "pyodide") {
    say("Starting Python in this page…");
    engine = new InBrowser();
  }
  await restore();
  at("filter").addEventListener("input", changed);
  at("data").addEventListener("change", changed);
  at("show").addEventListener("change", narrow);
  at("sample").addEventListener("change", async () => {
    if (at("sample").value === "own") return;
    try {
      await choose(at("sample").value);
    } catch (error) {
      at("sample").value = sample;
      say(`The sample cannot be read: ${error.message}`);
      return;
    }
    changed();
  });
  at("add").addEventListener("click", () => {
    at("show").value = "";
    const row = addRow("{}");
    at("rows").append(row.line);
    name();
    edited();
    changed();
    row.field.focus();
  });
  at("share").addEventListener("click", async () => {
    clearTimeout(keeping);
    history.replaceState(null, "", `#${state()}`);
    try {
      await navigator.clipboard.writeText(location.href);
      write(at("shared"), "The link is on the clipboard.");
    } catch {
      write(at("shared"), "The address of this page is the link.");
    }
    if (root.dataset.engine === "local") at("shared").textContent += " It works on this machine, while the command runs.";
    if (sample === "own" && !location.hash.includes("document=")) at("shared").textContent += " The documents are too long to be in it.";
  });
  window.addEventListener("hashchange", async () => {
    if (location.hash.slice(1) === state()) return;
    await restore();
    ask();
  });
  if (root.dataset.engine === "none") {
    say("This copy of the site was built without Python for browsers. To run the playground on your machine: vecstore playground");
    return;
  }
  engine ??= new Local();
  ask();
}

start();
