// The child's side of server-process.ts: what a file in test/servers/ calls.
import 'reflect-metadata';
import type { DynamicModule, INestApplication, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createAdapter, listen, type PlatformName } from './listen.js';

export interface ChildServerOptions {
  configure?: (app: INestApplication) => void | Promise<void>;
  /** What the test may ask of this process: `await server.ask('executions')`. */
  commands?: Record<string, (argument: any, app: INestApplication) => unknown>;
}

/** Serves the module on the adapter that the test chose, and tells the test where. */
export async function serve(
  module: Type<unknown> | DynamicModule,
  options: ChildServerOptions = {},
): Promise<void> {
  const { PLATFORM: platform = 'express', PORT: port = '0' } = process.env;
  const app = await NestFactory.create(module, await createAdapter(platform as PlatformName), {
    logger: ['error', 'warn'],
  });
  await options.configure?.(app);
  const url = await listen(app, platform as PlatformName, Number(port));

  process.on('message', ({ id, command, argument }: Question) => {
    void answer(command, argument).then((outcome) => tell({ kind: 'answer', id, ...outcome }));
  });
  tell({ kind: 'ready', url });

  async function answer(command: string, argument: unknown) {
    try {
      const work = options.commands?.[command];
      if (!work) throw new Error(`This server knows no command "${command}".`);
      return { value: await work(argument, app) };
    } catch (error) {
      return { error: String(error) };
    }
  }
}

/** Something the test waits for: `await server.event('charged')`. */
export function emit(name: string, value?: unknown): void {
  tell({ kind: 'event', name, value });
}

export interface Question {
  id: number;
  command: string;
  argument: unknown;
}

export type Told =
  | { kind: 'ready'; url: string }
  | { kind: 'answer'; id: number; value?: unknown; error?: string }
  | { kind: 'event'; name: string; value?: unknown };

function tell(message: Told): void {
  // Nobody listens any more when the test has ended first.
  if (process.connected) process.send?.(message);
}
