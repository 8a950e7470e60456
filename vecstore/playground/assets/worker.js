// Python in the browser, in a thread of its own: the page stays usable while it starts.
import { loadPyodide } from "./pyodide/pyodide.mjs";

async function begin() {
  const [python, wheel] = await Promise.all([
    loadPyodide({ indexURL: new URL("./pyodide/", import.meta.url).href }),
    fetch(new URL("./vecstore.whl", import.meta.url)),
  ]);
  if (!wheel.ok) throw new Error(`vecstore.whl: ${wheel.status}`);
  python.unpackArchive(await wheel.arrayBuffer(), "wheel");
  return python.pyimport("vecstore.playground.answer").answer_json;
}

const ready = begin();

self.onmessage = async ({ data: { number, request } }) => {
  try {
    self.postMessage({ number, answer: (await ready)(request) });
  } catch (error) {
    self.postMessage({ number, failed: String(error.message || error) });
  }
};
