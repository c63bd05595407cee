// What a tab shows: the answer to the last question that was asked there, and to no other.

import { Failed, Left, ask } from "./api.js";

export class View {
  turn = 0;
  leave = () => {};

  stop() {
    this.turn += 1;
    this.leave();
  }

  ask(question, fields, files) {
    return ask(question, fields, { files, after: (leave) => { this.leave = leave; } });
  }

  get cards() {
    return [this.card];
  }

  // The answer into the only card; an error beside a field, that which the server names if none is said.
  async fill(question, fields, files, field = null) {
    const turn = this.turn;
    this.card.busy(true);
    try {
      const report = await this.ask(question, fields, files);
      if (turn === this.turn) this.show(report);
    } catch (error) {
      if (turn !== this.turn) return;
      if (error instanceof Left) { this.card.say("Cancelled."); return; }
      this.hero.classList.add("stale");
      this.card.rest();
      if (!(error instanceof Failed)) throw error;
      error.field = field ?? error.field;
      this.problem(error);
    }
  }
}
