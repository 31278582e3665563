import { givenOf, type RunView } from '#services/optimizations/reading/view.ts';

/** Whether the owner wrote anything beside the question, which a link then shows or hides. */
export function hasContext(view: RunView): boolean {
  const rows = [...view.objectives, ...view.constraints, ...givenOf(view)];
  return Boolean(view.context) || rows.length > 0;
}
