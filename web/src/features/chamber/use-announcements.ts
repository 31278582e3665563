import { useEffect, useRef } from 'react';
import { useRunPart } from '#web/live/live.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import {
  type Announcer,
  announcementsBetween,
  createAnnouncer,
  type Heard,
  heardOf,
} from './announcements.ts';

export function useAnnouncements(runId: string): void {
  const view = useRunPart(runId, (state) => state.view);
  const heard = useRef<Heard | null>(null);
  const announcer = useRef<Announcer | null>(null);
  useEffect(() => {
    const made = createAnnouncer((sentence) => announce(sentence));
    announcer.current = made;
    return () => made.stop();
  }, []);
  useEffect(() => {
    // The initial state is visible on the page; only changes are announced.
    if (heard.current) announcer.current?.hear(announcementsBetween(heard.current, view));
    heard.current = heardOf(view);
  }, [view]);
}
