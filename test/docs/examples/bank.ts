/** Not shown in the docs: a bank that pays each time it is asked, and can lose its answer. */
export class Bank {
  readonly transfers: { id: string; amount: number; reference: string }[] = [];
  losesNextAnswer = false;
  private down = false;

  async transfer(_iban: string, amount: number, { reference }: { reference: string }) {
    const transfer = { id: `tr_${this.transfers.length + 1}`, amount, reference };
    this.transfers.push(transfer);
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false;
      throw new Error('socket hang up');
    }
    return transfer;
  }

  /** Returns what repairs it. */
  goDown() {
    this.down = true;
    return () => (this.down = false);
  }

  async findByReference(reference: string) {
    if (this.down) throw new Error('connect ECONNREFUSED');
    return this.transfers.find((transfer) => transfer.reference === reference);
  }
}
