import type { Narrator } from './narrator.js';
import type { Stage } from './stage.js';

/** A part of the story that stands for itself: it makes its own key and its own ride. */
export interface Chapter {
  title: string;
  tell(stage: Stage, narrator: Narrator): Promise<void>;
}
