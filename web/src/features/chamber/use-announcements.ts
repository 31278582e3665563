import { useEffect, useRef } from 'react';
import { useRunPart } from '#web/live/live.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import {
  type Announcer,
  announcementsBetween,
  createAnnouncer,
  type Announced,
  announcedOf,
} from './announcements.ts';

export function useAnnouncements(runId: string): void {
  const view = useRunPart(runId, (state) => state.view);
  const announced = useRef<Announced | null>(null);
  const announcer = useRef<Announcer | null>(null);
  useEffect(() => {
    const made = createAnnouncer((sentence) => announce(sentence));
    announcer.current = made;
    return () => made.stop();
  }, []);
  useEffect(() => {
    // The initial state is visible on the page; only changes are announced.
    if (announced.current)
      announcer.current?.announce(announcementsBetween(announced.current, view));
    announced.current = announcedOf(view);
  }, [view]);
}
