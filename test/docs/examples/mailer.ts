/** Not shown in the docs: a mail service that sends once per key and can lose its answer. */
export class Mailer {
  readonly sent = new Map<string, { to: string; subject: string }>();
  losesNextAnswer = false;

  async send(to: string, subject: string, { idempotencyKey }: { idempotencyKey: string }) {
    this.sent.set(idempotencyKey, this.sent.get(idempotencyKey) ?? { to, subject });
    if (this.losesNextAnswer) {
      this.losesNextAnswer = false;
      throw new Error('socket hang up');
    }
  }
}
