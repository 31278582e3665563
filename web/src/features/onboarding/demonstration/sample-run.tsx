import { type ReactNode, useEffect, useState } from 'react';
import type { ChallengeId } from '#services/onboarding/challenge-list.ts';
import { announce } from '#web/ui/feedback/announcer.tsx';
import { Badge } from '#web/ui/feedback/status.tsx';
import { Button } from '#web/ui/form/button.tsx';
import { Tile, TileRow } from '#web/ui/tile.tsx';
import { DemoSteps } from './demo-steps.tsx';
import {
  sampleConfidence,
  sampleMinutes,
  sampleResults,
  sampleStepMs,
  sampleSteps,
} from './sample.ts';

const stepCount = sampleSteps.length;

/** Five steps of a second each, and a sample result. No model is asked. */
export function SampleRun({
  challengeId,
  isFinished,
  onFinished,
}: {
  challengeId: ChallengeId;
  /** It was played before. */
  isFinished: boolean;
  onFinished: () => void;
}): ReactNode {
  const [done, setDone] = useState(isFinished ? stepCount : 0);
  const [isPlaying, setPlaying] = useState(false);
  useEffect(() => {
    if (!isPlaying) return undefined;
    const timer = setTimeout(() => {
      const step = sampleSteps[done];
      if (step) announce(`Sample: ${step.title}, ${((done + 1) * 100) / stepCount}%`);
      setDone(done + 1);
      if (done + 1 < stepCount) return;
      setPlaying(false);
      onFinished();
    }, sampleStepMs);
    return () => clearTimeout(timer);
  }, [isPlaying, done, onFinished]);
  const { insights, recommendations } = sampleResults[challengeId];
  return (
    <div className="space-y-6">
      <DemoSteps
        label="Progress of the sample"
        reached={sampleSteps[done - 1]?.id ?? null}
        progress={(done * 100) / stepCount}
        details
      />
      <Button
        disabled={isPlaying}
        onClick={() => {
          setDone(0);
          setPlaying(true);
        }}
      >
        {done === stepCount ? 'Play again' : isPlaying ? 'Playing…' : 'Play sample'}
      </Button>
      {done === stepCount ? (
        <div className="space-y-4 rounded-control border border-dashed border-line-strong p-4">
          <p className="flex flex-wrap items-center gap-3">
            <Badge tone="info">Sample data</Badge>
            <span className="text-ink-2">
              An invented business. No model was asked, and no figure was measured.
            </span>
          </p>
          <TileRow>
            <Tile label="Confidence (sample)" value={`${sampleConfidence}%`} />
            <Tile label="Processing time (sample)" value={`${sampleMinutes} minutes`} />
          </TileRow>
          <SampleList title="Insights (sample)" sentences={insights} />
          <SampleList title="Recommendations (sample)" sentences={recommendations} />
        </div>
      ) : null}
    </div>
  );
}

function SampleList({
  title,
  sentences,
}: {
  title: string;
  sentences: readonly string[];
}): ReactNode {
  return (
    <div className="space-y-1">
      <h4 className="font-medium">{title}</h4>
      <ul className="list-disc space-y-1 ps-5">
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </div>
  );
}
