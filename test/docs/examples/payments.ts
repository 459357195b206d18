/** Not shown in the docs: a payment provider that charges once per key and can lose its answer. */
export class Payments {
  readonly charges = new Map<string, { chargeId: string; amount: number }>();
  losesNextAnswer = false;

  async charge(amount: number, { idempotencyKey }: { idempotencyKey: string }) {
    const known = this.charges.get(idempotencyKey);
    const charge = known ?? { chargeId: `ch_${this.charges.size + 1}`, amount };
    this.charges.set(idempotencyKey, charge);
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false;
      throw new Error('socket hang up');
    }
    return charge;
  }
}
