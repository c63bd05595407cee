// Questions to the server: each can be cancelled, and long ones tell how far they are.

const open = new Map();  // name of a question: its controller and what is known of it

export class Failed extends Error {
  constructor(report, status) {
    super(report?.error?.message ?? `The server answered with ${status}.`);
    this.field = report?.field ?? null;
    this.status = status;
  }
}

export class Left extends Error {}  // nobody waits for the answer any more

const POLL = 400;  // milliseconds

// The answer, as an object, or as text for formats that are no JSON.
export async function ask(question, fields, { files = {}, format = "page", after = null } = {}) {
  const controller = new AbortController();
  const name = crypto.randomUUID ? crypto.randomUUID() : `question-${Math.random()}`.replace(".", "");
  const entry = { controller, question, start: performance.now(), state: null };
  open.set(name, entry);
  if (after) after(() => controller.abort());
  const poll = setInterval(() => look(name, entry), POLL);
  try {
    const response = await fetch(`/api/${question}`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-question-id": name },
      body: JSON.stringify({ ...fields, files, format }),
      signal: controller.signal,
    });
    if (!response.ok) {
      const text = await response.text();
      let report = { error: { message: text.trim() } };
      try { report = JSON.parse(text); } catch { /* it was a sentence */ }
      if (report.rows) return report;  // a part of a sweep, and an error that says what is missing
      throw new Failed(report, response.status);
    }
    return ["page", "json"].includes(format) ? await response.json() : await response.text();
  } catch (error) {
    if (controller.signal.aborted) throw new Left();
    if (error instanceof Failed) throw error;
    throw new Failed({ error: { message: "The server does not answer; start shuffledp serve again." } });
  } finally {
    clearInterval(poll);
    open.delete(name);
    show();
  }
}

async function look(name, entry) {
  show();
  if (performance.now() - entry.start < 2 * POLL) return;
  try {
    const response = await fetch(`/api/questions/${name}`, { signal: entry.controller.signal });
    if (response.ok) entry.state = await response.json();
  } catch { /* it is over */ }
}

export function cancelAll() {
  for (const { controller } of open.values()) controller.abort();
}

function show() {
  const place = document.getElementById("working");
  const slow = [...open.values()].filter(({ start }) => performance.now() - start > 2 * POLL);
  place.hidden = slow.length === 0;
  if (!slow.length) return;
  const [{ question, start, state }] = slow;
  const seconds = Math.round((performance.now() - start) / 1000);
  const far = state?.total ? `, ${state.done} of ${state.total}` : state?.waiting ? ", waiting" : "";
  place.querySelector(".what").textContent = `${question}: ${seconds} s${far}`;
  const bar = place.querySelector("progress");
  if (state?.total) { bar.max = state.total; bar.value = state.done; } else bar.removeAttribute("value");
}

export async function registry() {
  return (await fetch("/api/registry")).json();
}
