import type { World } from './world.ts';

/** Something that may happen. `run` says in a few words what did, or null where nothing could. */
export type Step = {
  name: string;
  weight: number;
  run: (world: World) => Promise<string | null>;
};
