/** A place where one attempt stands still until another is through. */
export class Hold {
  private arrive!: () => void;
  private open!: () => void;
  /** Resolves when an attempt stands here. */
  readonly arrived = new Promise<void>((resolve) => (this.arrive = resolve));
  private readonly opened = new Promise<void>((resolve) => (this.open = resolve));

  wait(): Promise<void> {
    this.arrive();
    return this.opened;
  }

  release(): void {
    this.open();
  }
}
