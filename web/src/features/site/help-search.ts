/**
 * Shows the answers that hold every word of the search, in any case and order, and the topics that have
 * one. Returns how many.
 */
export function showFound(all: Element, search: string): number {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  const found = new Set<string>();
  let count = 0;
  for (const question of all.querySelectorAll<HTMLElement>('[data-question]')) {
    const section = question.closest<HTMLElement>('[data-topic]');
    const topic = section?.querySelector('h2')?.textContent ?? '';
    const text = `${topic} ${question.textContent}`.toLowerCase();
    const isFound = words.every((word) => text.includes(word));
    question.hidden = !isFound;
    if (!isFound) continue;
    count += 1;
    found.add(section?.dataset['topic'] ?? '');
  }
  for (const part of all.querySelectorAll<HTMLElement>('[data-topic]'))
    part.hidden = !found.has(part.dataset['topic'] ?? '');
  return count;
}
