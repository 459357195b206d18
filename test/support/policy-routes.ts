import { Controller, Post, type Type } from '@nestjs/common';
import { Idempotent, type IdempotencyPolicy } from 'nestjs-atomic-idempotency';

/**
 * A controller with one POST route per policy, named by its path. What the
 * routes do is the same for all and up to the running test.
 */
export class PolicyRoutes {
  readonly controller: Type;
  /** How often a handler ran since the test said what it does. */
  executions = 0;
  private answer: (execution: number) => unknown = () => ({});

  constructor(policies: Record<string, IdempotencyPolicy>) {
    class PolicyController {}
    for (const [path, policy] of Object.entries(policies)) {
      const descriptor: PropertyDescriptor = {
        configurable: true,
        writable: true,
        value: () => this.answer(++this.executions),
      };
      Post(path)(PolicyController.prototype, path, descriptor);
      Idempotent(policy)(PolicyController.prototype, path, descriptor);
      Object.defineProperty(PolicyController.prototype, path, descriptor);
    }
    Controller()(PolicyController);
    this.controller = PolicyController;
  }

  /** What every handler does from now on; it gets the number of its execution, from 1. */
  answers(answer: (execution: number) => unknown): void {
    this.executions = 0;
    this.answer = answer;
  }
}
