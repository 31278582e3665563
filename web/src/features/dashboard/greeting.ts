/** "Good morning, Ada": by the clock on the wall and the first word of the name, else 'there'. */
export function greeting(name: string, now: Date): string {
  const hour = now.getHours();
  const time = hour < 12 ? 'morning' : hour < 18 ? 'afternoon' : 'evening';
  const first = name.trim().split(/\s+/u)[0];
  return `Good ${time}, ${first || 'there'}`;
}
