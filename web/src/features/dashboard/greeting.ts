import { useEffect, useState } from 'react';

/** "Good morning, Ada": by the local time and the first word of the name, else 'there'. */
export function greeting(name: string, now: Date): string {
  const hour = now.getHours();
  const time = hour < 12 ? 'morning' : hour < 18 ? 'afternoon' : 'evening';
  const first = name.trim().split(/\s+/u)[0];
  return `Good ${time}, ${first || 'there'}`;
}

/** The greeting, updated when the page is shown again. */
export function useGreeting(name: string): string {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const lookAgain = (): void => setNow(new Date());
    window.addEventListener('focus', lookAgain);
    return () => window.removeEventListener('focus', lookAgain);
  }, []);
  return greeting(name, now);
}
