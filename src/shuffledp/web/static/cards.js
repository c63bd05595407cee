// Cards: a picture or a text with a title, what can be saved of it, and a table for those who read.

import { button, csvText, download, html, svgText } from "./dom.js";

export class Card {
  constructor(name, title, about = "") {
    this.name = name;
    this.usual = about;
    this.place = html("div", { class: "picture" });
    this.tools = html("div", { class: "tools" });
    this.table = html("div", { class: "wide" });
    this.details = html("details", { hidden: true }, html("summary", {}, "Table"), this.table);
    this.about = html("p", { class: "help" }, about);
    this.element = html(
      "section", { class: "card", "aria-label": title, "data-card": name },
      html("div", { class: "head" }, this.heading = html("h2", {}, title), this.tools), this.about, this.place, this.details,
    );
    this.busy(true);
  }

  rename(title) {
    this.heading.textContent = title;
    this.element.setAttribute("aria-label", title);
  }

  // Below the title: what is to be known about this answer, or else what the card shows.
  note(text) {
    this.about.textContent = text ?? this.usual;
  }

  get width() {
    return Math.max(260, Math.floor(this.place.clientWidth) || 460);
  }

  busy(yes) {
    this.element.setAttribute("aria-busy", String(yes));
  }

  // `draw(width)` makes the picture, again whenever the room for it changes.
  show(draw, head, rows, full = rows) {
    this.draw = draw;
    this.redraw();
    this.details.hidden = false;
    this.table.replaceChildren(table(head, rows));
    this.tools.replaceChildren(
      button("SVG", () => download(`${this.name}.svg`, svgText(this.place.firstChild), "image/svg+xml"), `Download ${this.name} as SVG`),
      button("CSV", () => download(`${this.name}.csv`, csvText(head, full), "text/csv"), `Download ${this.name} as CSV`),
    );
    this.busy(false);
  }

  redraw() {
    if (this.draw) this.place.replaceChildren(this.draw(this.width));
  }

  // No answer is on its way: what is shown is of an earlier question, if anything is.
  rest() {
    if (!this.draw) this.say("No answer yet.");
    this.busy(false);
  }

  say(text) {
    this.draw = null;
    this.details.hidden = true;
    this.tools.replaceChildren();
    this.place.replaceChildren(html("p", { class: "note" }, text));
    this.busy(false);
  }
}

export const table = (head, rows) => html(
  "table", {},
  html("thead", {}, html("tr", {}, head.map((name) => html("th", { scope: "col" }, name)))),
  html("tbody", {}, rows.map((row) => html("tr", {}, row.map((cell) => html("td", {}, String(cell ?? "")))))),
);

// The statement of the command line, its names and texts apart: they stand in columns 3 and 16.
export function statement(text) {
  const [said, facts] = text.split("\n\n");
  const list = [];
  for (const line of facts.split("\n")) {
    const name = line.slice(2, 15).trim(), rest = line.slice(15).trim();
    if (name) list.push([name, rest]);
    else list.at(-1)[1] += ` ${rest}`;
  }
  return { said: said.replaceAll("\n", " "), facts: list };
}
