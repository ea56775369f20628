/** A queue that serves its owners in turn, and the items of one owner in their order. */
export class FairQueue<Item> {
  /** In the order of their turns: the first owner is next. */
  readonly #byOwner = new Map<string, Item[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(owner: string, item: Item): void {
    const items = this.#byOwner.get(owner);
    if (items === undefined) this.#byOwner.set(owner, [item]);
    else items.push(item);
    this.#size += 1;
  }

  /** The next item; undefined if there is none. */
  take(): Item | undefined {
    const [next] = this.#byOwner;
    if (next === undefined) return undefined;
    const [owner, items] = next;
    const item = items.shift();
    this.#size -= 1;
    // The owner goes to the end of the turns.
    this.#byOwner.delete(owner);
    if (items.length > 0) this.#byOwner.set(owner, items);
    return item;
  }

  remove(owner: string, item: Item): void {
    const items = this.#byOwner.get(owner) ?? [];
    const at = items.indexOf(item);
    if (at < 0) return;
    items.splice(at, 1);
    this.#size -= 1;
    if (items.length === 0) this.#byOwner.delete(owner);
  }
}
