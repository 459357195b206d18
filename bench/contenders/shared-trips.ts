/** Gathers the calls of a moment, and of the time while others are on their way. */
export class SharedTrips<Item> {
  private waiting: { item: Item; resolve: () => void; reject: (error: unknown) => void }[] = [];
  private leaving = false;

  constructor(private readonly send: (items: Item[]) => Promise<unknown>) {}

  go(item: Item): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ item, resolve, reject });
      if (!this.leaving) setImmediate(() => void this.leave());
      this.leaving = true;
    });
  }

  private async leave(): Promise<void> {
    const together = this.waiting.splice(0);
    try {
      await this.send(together.map(({ item }) => item));
      for (const { resolve } of together) resolve();
    } catch (error) {
      for (const { reject } of together) reject(error);
    }
    this.leaving = this.waiting.length > 0;
    if (this.leaving) setImmediate(() => void this.leave());
  }
}
