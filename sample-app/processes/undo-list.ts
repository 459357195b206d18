/** What has to be undone at the end, in reverse order, whatever happened in between. */
export class UndoList {
  private readonly steps: (() => Promise<unknown>)[] = [];

  add(undo: () => Promise<unknown>): void {
    this.steps.push(undo);
  }

  /** Goes on when a step fails, so that the others still run. */
  async run(): Promise<void> {
    for (let undo = this.steps.pop(); undo; undo = this.steps.pop()) {
      await undo().catch((error: unknown) => console.error(error));
    }
  }
}
