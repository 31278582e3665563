import { type ReactNode, useState } from 'react';
import { problemSentence } from '#web/api/problem-words.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Choice } from '#web/ui/form/choice.tsx';
import type { DashboardView } from './view.ts';

const names: Readonly<Record<DashboardView, string>> = { standard: 'Standard', elite: 'Elite' };

/** Changes the dashboard at once and stores the choice; when that fails, the choice still shows. */
export function ViewSwitch({
  view,
  onView,
  save,
}: {
  view: DashboardView;
  onView: (view: DashboardView) => void;
  /** Stores the choice with the account. */
  save: (view: DashboardView) => Promise<void>;
}): ReactNode {
  const [failure, setFailure] = useState<string | null>(null);
  const choose = async (next: DashboardView): Promise<void> => {
    onView(next);
    announce(`${names[next]} dashboard`);
    setFailure(null);
    try {
      await save(next);
    } catch (error) {
      const sentence = `We couldn't save your choice. ${problemSentence(error)}`;
      setFailure(sentence);
      announce(sentence, 'assertive');
    }
  };
  return (
    <div>
      <Choice
        label="Dashboard"
        isLabelHidden
        words={names}
        value={view}
        onChange={(next) => void choose(next)}
      />
      {failure === null ? null : <p className="max-w-60 pt-1 text-sm text-bad">{failure}</p>}
    </div>
  );
}
