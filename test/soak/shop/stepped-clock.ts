const RealDate = Date;
let offset = 0;

/** The date of a process whose clock was set wrong. Timers go on, as they do on such a machine. */
class SteppedDate extends RealDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(RealDate.now() + offset);
    else super(...given);
  }

  static override now(): number {
    return RealDate.now() + offset;
  }

  /** Also what was made before the clock was replaced, or by Node itself. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object.prototype.toString.call(value) === '[object Date]';
  }
}

/** From now on this process is wrong about the time by so many milliseconds. */
export function stepClock(milliseconds: number): void {
  globalThis.Date = SteppedDate as DateConstructor;
  offset = milliseconds;
}
