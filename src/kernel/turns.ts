/** Lets the changes of one thing run one after the other, so that each is judged by what the one before it left. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs `work` once all earlier work under this name has ended, however that went. */
  async take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name);
    const mine = before ? before.then(work, work) : work();
    this.#last.set(name, mine);
    try {
      return await mine;
    } finally {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    }
  }
}
